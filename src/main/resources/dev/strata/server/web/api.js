// Talks to the server this page came from.

let apiKey = "";
export function useKey(key) { apiKey = key; }

function headers(extra) {
  return apiKey ? { ...extra, authorization: `Bearer ${apiKey}` } : extra;
}

export async function getJson(path, signal) {
  const response = await fetch(path, { headers: headers({}), signal, cache: "no-store" });
  if (!response.ok && response.status !== 503) throw new Error(await failure(response));
  return response.json();
}

async function failure(response) {
  try {
    const body = await response.json();
    return body.error?.message ?? `${response.status} ${response.statusText}`;
  } catch {
    return `${response.status} ${response.statusText}`;
  }
}

/** Streams a chat completion; calls onChunk with every parsed chunk. */
export async function chat(request, onChunk, signal) {
  const response = await fetch("v1/chat/completions", {
    method: "POST",
    headers: headers({ "content-type": "application/json" }),
    body: JSON.stringify({ ...request, stream: true, stream_options: { include_usage: true }, return_progress: true }),
    signal,
  });
  if (!response.ok) throw new Error(await failure(response));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const frames = rest.split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      if (!frame.startsWith("data: ")) continue;
      const data = frame.slice(6);
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new Error(chunk.error.message);
      onChunk(chunk);
    }
  }
}
