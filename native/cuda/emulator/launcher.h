// What the emulated driver hands to the fibers: one launch with its packed arguments.
#pragma once

#include "emulator/device.h"

#include <string>
#include <vector>

namespace emulator {

struct Launch {
    std::string name;
    void* kernel;
    void (*call)(void*, const unsigned char*);
    std::vector<unsigned char> arguments;
    Triple grid, block;
    size_t shared_bytes;
};

void run(const Launch& launch);

}  // namespace emulator
