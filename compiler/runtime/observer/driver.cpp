// Devices in the processor's memory, whose calls are those of `runtime/gpu.py`: kernels run on the
// processor, watched by `watch.cpp`, which this text is part of. What comes as machine code is a
// library that `build.py` made of a CUDA text. Everything is done when a call returns. Errors have
// the numbers that CUDA gives them.
//
// A copy of the library may be told to fail, by a text behind FAILS=: the name of a call, how many
// calls of it go well, and the error of the next, after which all calls fail so; -1: it never returns.
#include <unistd.h>

#include <functional>
#include <set>

enum { HANGS = -1, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, INVALID_HANDLE = 400,
       NOT_FOUND = 500, LAUNCH_FAILED = 719, CAPTURED = 900 };
const size_t MEMORY_BYTES = 1ull << 30;  // of a device: all of it is filled, and has its shadow

typedef unsigned long long Address;
typedef int (*Launch)(long long blocks, int threads, int shared, void **given);
typedef std::function<int()> Work;

struct Kernel { Launch launch; const size_t *sizes; char *low, *high; };  // of parameters, up to a 0; shared memory
struct Stream { bool captures; std::vector<Work> asked; };
enum { MOST_SHARED = 48 << 10 };

const size_t PREFIX = sizeof "observer_" - 1;
char observer_fails[] = "FAILS=                                                          ";

namespace {
size_t in_use;
int failure;
std::map<Address, size_t> blocks_of_memory;
std::map<Address, int> device_of;  // a block is of the device that was current
int devices[2], *context;
char *shared_now;

// The shared memory of the library whose kernels come next.
void shares(char *low, char *high) {
    if (low != shared_now) observer_shared(shared_now = low, high);
}
std::set<Stream *> streams;

int failed(const char *call) {
    static int left, with;
    static char name[sizeof observer_fails];
    if (!*name && sscanf(observer_fails, "FAILS= %s %d %d", name, &left, &with) < 3) strcpy(name, "none");
    if (failure) return failure;
    if (strcmp(call + PREFIX, name) || left--) return 0;
    while (with == HANGS) pause();
    if (with != OUT_OF_MEMORY) failure = with;
    return with;
}

// The numbers of the devices that can be seen, whose identities end in them.
std::string visible() {
    const char *chosen = getenv("CUDA_VISIBLE_DEVICES");
    if (!chosen) return "01";
    size_t length = strlen(chosen);
    return length && strchr("01", chosen[length - 1]) ? std::string(chosen + length - 1) : "";
}

bool captures(Stream *stream) { return streams.count(stream) && stream->captures; }

// Whether cells that the host touches lie in one block of memory.
bool is_inside(Address at, size_t bytes) {
    auto next = blocks_of_memory.upper_bound(at);
    if (next == blocks_of_memory.begin()) return false;
    auto &[start, size] = *--next;
    return at + bytes <= start + size;
}

// Work is done at once, unless a stream is captured.
int asked(Stream *stream, Work work) {
    if (!captures(stream)) return work();
    stream->asked.push_back(work);
    return 0;
}

}  // namespace

extern "C" {
#define CALLED if (int code = failed(__func__)) return code

int observer_start() {
    CALLED;
    Dl_info here;  // what kernels call is found by all libraries that come later
    if (!dladdr(&failure, &here) || !dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL)) return 999;
    if (blocks_of_memory.empty()) observer_begin(0, 0, 1e9, 0), shared_now = nullptr;
    return visible().empty() ? 100 : 0;
}
int observer_count(int *count) { CALLED; *count = (int)visible().size(); return 0; }
int observer_about(int number, char *name, int length, char *identity, size_t *bytes) {
    CALLED;
    int device = visible()[number] - '0';
    snprintf(name, length, "Observer %d", device);
    memset(identity, 0, 16), identity[15] = (char)device;
    *bytes = MEMORY_BYTES;
    return 0;
}
int observer_open(int **device, int number) { CALLED; *device = devices + (visible()[number] - '0'); return 0; }
int observer_current(int **device) { *device = context; return 0; }
int observer_use(int *device) { context = device; return 0; }
// Whether an address is in the memory of the current device.
int observer_owns(Address address) {
    auto next = device_of.upper_bound(address);
    if (next == device_of.begin()) return 0;
    auto &[start, device] = *--next;
    return address < start + blocks_of_memory[start] && device == context - devices;
}
int observer_free_bytes(size_t *free) { CALLED; *free = MEMORY_BYTES - in_use; return 0; }

int observer_load(void **module, const char *image) {
    CALLED;
    size_t headers;  // come last in the file
    unsigned short size, count;
    memcpy(&headers, image + 40, 8), memcpy(&size, image + 58, 2), memcpy(&count, image + 60, 2);
    if (memcmp(image, "\177ELF", 4)) return INVALID_IMAGE;
    size_t left = headers + (size_t)size * count;
    int file = memfd_create("kernels", MFD_CLOEXEC);
    while (left) {
        ssize_t done = write(file, image, left);
        if (done <= 0) return OUT_OF_MEMORY;
        image += done, left -= done;
    }
    static unsigned loaded;  // each has a path of its own: a path again is taken for the library before
    std::string path = "/proc/self/fd";
    for (unsigned rest = loaded++; rest; rest /= 2) path += rest % 2 ? "/." : "//";
    *module = dlopen((path + "/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    close(file);
    if (!*module) return INVALID_IMAGE;
    auto edge = [&](const char *name) { return ((char *(*)())dlsym(*module, name))(); };
    observer_shared(shared_now = edge("observer_low"), edge("observer_high"));
    return 0;
}
int observer_unload(void *module) { CALLED; return dlclose(module); }
int observer_kernel(Kernel **kernel, void *module, const char *name) {
    CALLED;
    auto part = [&](const char *what) { return dlsym(module, (std::string(what) + name).c_str()); };
    auto edge = [&](const char *what) { return ((char *(*)())dlsym(module, what))(); };
    *kernel = new Kernel{(Launch)part("launch_"), (const size_t *)part("sizes_"), edge("observer_low"), edge("observer_high")};
    return (*kernel)->launch ? 0 : NOT_FOUND;
}
int observer_launch(Kernel *kernel, unsigned blocks, unsigned threads, unsigned shared, Stream *stream, void **given) {
    CALLED;
    if (shared > MOST_SHARED) return INVALID_VALUE;
    std::vector<std::string> values;  // the caller's are gone when captured work is done
    for (int k = 0; kernel->sizes[k]; k++) values.emplace_back((char *)given[k], kernel->sizes[k]);
    return asked(stream, [=]() mutable {
        std::vector<void *> places;
        for (std::string &value : values) places.push_back(value.data());
        shares(kernel->low, kernel->high);
        return kernel->launch(blocks, (int)threads, (int)shared, places.data()) ? 0 : LAUNCH_FAILED;
    });
}

// What a stream captures is copied, as a driver does it: a graph that is launched does it again.
int observer_stream(Stream **stream) { CALLED; streams.insert(*stream = new Stream()); return 0; }
int observer_begin_capture(Stream *stream) {
    CALLED;
    if (!streams.count(stream) || stream->captures) return CAPTURED;
    stream->captures = true;
    return 0;
}
int observer_end_capture(std::vector<Work> **ready, Stream *stream) {
    CALLED;
    if (!captures(stream)) return CAPTURED;
    *ready = new std::vector<Work>();
    std::swap(**ready, stream->asked), stream->captures = false;
    return 0;
}
int observer_forget(std::vector<Work> *ready) { CALLED; delete ready; return 0; }
int observer_repeat(std::vector<Work> *ready, Stream *stream) {
    CALLED;
    if (captures(stream)) return CAPTURED;
    for (Work &work : *ready)
        if (int code = work()) return code;
    return 0;
}

int observer_allocate(Address *made, size_t bytes, Stream *stream) {
    CALLED;
    if (captures(stream)) return CAPTURED;
    if (!context) return INVALID_CONTEXT;
    if (bytes > MEMORY_BYTES - in_use) return OUT_OF_MEMORY;
    char *area = (char *)aligned_alloc(256, (bytes + 255) / 256 * 256);
    for (size_t k = 0; k < bytes; k += 4) {  // a constant would hide defects
        unsigned some = any(1 << 16) | any(1 << 16) << 16;
        memcpy(area + k, &some, std::min((size_t)4, bytes - k));
    }
    in_use += bytes, blocks_of_memory[*made = (Address)area] = bytes, device_of[*made] = (int)(context - devices);
    return 0;
}
int observer_free(Address block, Stream *stream) {
    CALLED;
    if (captures(stream)) return CAPTURED;
    if (!device_of.count(block) || context - devices != device_of[block]) return INVALID_VALUE;
    device_of.erase(block);
    in_use -= blocks_of_memory[block], blocks_of_memory.erase(block);
    free((void *)block);
    return 0;
}
int observer_zero(Address to, size_t bytes, Stream *stream) {
    CALLED;
    return asked(stream, [=]() {
        memset((void *)to, 0, bytes);
        observer_written((char *)to, nullptr, (long long)bytes);
        return 0;
    });
}
int observer_copy_in(Address to, const void *from, size_t bytes, Stream *stream) {
    CALLED;
    if (captures(stream)) return CAPTURED;
    if (!is_inside(to, bytes)) return INVALID_VALUE;
    memcpy((void *)to, from, bytes);
    observer_written((char *)to, nullptr, (long long)bytes);
    return 0;
}
int observer_copy(Address to, Address from, size_t bytes, Stream *stream) {
    CALLED;
    if (!is_inside(to, bytes) || !is_inside(from, bytes)) return INVALID_VALUE;
    return asked(stream, [=]() {
        memmove((void *)to, (void *)from, bytes);
        observer_written((char *)to, (char *)from, (long long)bytes);
        return 0;
    });
}
int observer_copy_out(void *to, Address from, size_t bytes, Stream *stream) {
    CALLED;
    if (captures(stream)) return CAPTURED;
    if (!is_inside(from, bytes)) return INVALID_VALUE;
    observer_is_read((char *)from, (long long)bytes);
    memcpy(to, (void *)from, bytes);
    return 0;
}

int observer_wait(Stream *stream) {
    CALLED;
    bool is_default = stream <= (Stream *)2;
    return captures(stream) ? CAPTURED : is_default || streams.count(stream) ? 0 : INVALID_HANDLE;
}
int observer_mark(double *seconds) { CALLED; *seconds = now(); return 0; }
}
