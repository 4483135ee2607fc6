// What all client checks share: a tiny runner that prints one line for each check and fails the process when one fails.

export const base = process.env.STRATA_URL ?? "http://127.0.0.1:8080";
export const key = process.env.STRATA_API_KEY ?? "none";
export const model = process.env.STRATA_MODEL ?? "strata-tiny";

export const weather = {
  name: "get_weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string", maxLength: 20 } }, required: ["city"], additionalProperties: false },
};
export const place = {
  type: "object",
  properties: { city: { type: "string", maxLength: 20 }, degrees: { type: "integer", minimum: -90, maximum: 60 } },
  required: ["city", "degrees"],
  additionalProperties: false,
};

let failed = 0;
const only = process.argv[2];

export function ok(condition, what) {
  if (!condition) throw new Error(`not so: ${what}`);
}

export async function check(name, body) {
  if (only && !name.includes(only)) return;
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED ${name}: ${error?.stack ?? error}`);
  }
}

/** Waits until the server works on nothing, so that a cancelled answer has really ended. */
export async function idle() {
  const end = Date.now() + 60_000;
  for (;;) {
    const status = await (await fetch(`${base}/v1/status`, { headers: { authorization: `Bearer ${key}` } })).json();
    if (status.queue.running === 0 && status.queue.waiting === 0 && status.server.active_requests === 0) return;
    if (Date.now() > end) throw new Error(`the server still works: ${JSON.stringify(status.queue)}`);
    // On a busy machine asking without a pause would take the time that the server needs.
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export function done() {
  process.exitCode = failed ? 1 : 0;
}
