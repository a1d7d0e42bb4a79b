// Stands in for CUDA's driver and compiler, for the host programs that Futhark generates: kernels run
// on the processor, watched by `watch.cpp`, which this text is part of. Everything is done when a
// call returns. At the end the file PEER_REPORT names gets what each kernel asked memory for.
#include <unistd.h>

#include "cuda.h"

struct Program {
    std::string text, made;
};

namespace peer {
struct Three {
    unsigned x, y, z;
};
Three grid, block;
}  // namespace peer

namespace {
const int AS_ONE = 4096;  // bytes whose accesses nobody tells apart: races are not looked for
typedef void (*Launch)(void **);

struct Total {
    long long launches = 0, read = 0, written = 0;  // in sectors
};
std::map<std::string, Total> totals;
std::map<Launch, std::string> names;
Launch launched;
void **arguments;

void run_it() { launched(arguments); }

// The sectors up to now; of an access that was taken apart in part, as many for each visit.
void sum(long long &read, long long &written) {
    read = written = 0;
    for (auto &[where, site] : sites)
        if (!site.shared && site.lanes)
            (site.kind == 1 ? written : read) += (long long)((double)site.sectors * site.visits / site.lanes);
}

__attribute__((destructor)) void tell() {
    const char *path = getenv("PEER_REPORT");
    FILE *file = path ? fopen(path, "w") : nullptr;
    if (!file) return;
    for (auto &[name, one] : totals)
        fprintf(file, "%s %lld %lld %lld\n", name.c_str(), one.launches, one.read, one.written);
    fprintf(file, "copies 0 %lld %lld\n", (copied + SECTOR - 1) / SECTOR, (copied + SECTOR - 1) / SECTOR);
    fclose(file);
}
}  // namespace

extern "C" {
CUresult cuInit(unsigned) {
    Dl_info here;  // what kernels call is found by all libraries that come later
    dladdr(&totals, &here);
    dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    observer_begin(0, 1, 1e9, 0);
    return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char **said) { *said = "the stand-in for CUDA failed"; return CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int *count) { *count = 1; return CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *device, int) { *device = 0; return CUDA_SUCCESS; }
CUresult cuDeviceGetName(char *name, int length, CUdevice) { snprintf(name, length, "Observer"); return CUDA_SUCCESS; }
// As of an H100; but a warp has one lane, so that lanes wait for each other where they depend on that.
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice) {
    static const std::map<int, int> values = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024}, {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, INT32_MAX},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1}, {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132}, {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048}, {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1 << 10},
    };
    auto found = values.find(which);
    *value = found == values.end() ? 0 : found->second;
    return CUDA_SUCCESS;
}
CUresult cuCtxCreate(CUcontext *, unsigned, CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxDestroy(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxPushCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxPopCurrent(CUcontext *) { return CUDA_SUCCESS; }
CUresult cuCtxSynchronize() {
    static bool is_set_up;  // a program's first wait ends what it does before its entry point
    if (!is_set_up) totals.clear(), copied = 0;
    is_set_up = true;
    return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream *, unsigned) { return CUDA_SUCCESS; }
CUresult cuStreamDestroy(CUstream) { return CUDA_SUCCESS; }
CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent, CUstream) { return CUDA_SUCCESS; }
CUresult cuEventDestroy(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventElapsedTime(float *ms, CUevent, CUevent) { *ms = 0; return CUDA_SUCCESS; }
int cudaEventCreate(cudaEvent_t *) { return 0; }

CUresult cuModuleLoadData(CUmodule *module, const void *path) {
    *module = (CUmodule)dlopen((const char *)path, RTLD_NOW | RTLD_LOCAL);
    if (!*module) {
        fprintf(stderr, "%s\n", dlerror());
        return CUDA_ERROR_LAUNCH_FAILED;
    }
    auto edge = [&](const char *name) { return ((char *(*)())dlsym(*module, name))(); };
    observer_shared(edge("observer_low"), edge("observer_high"));
    return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction *kernel, CUmodule module, const char *name) {
    Launch found = (Launch)dlsym(module, (std::string("launch_") + name).c_str());
    names[found] = name;
    *kernel = (CUfunction)found;
    return found ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction) {
    *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, int, int) { return CUDA_SUCCESS; }
CUresult cuLaunchKernel(CUfunction kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned, CUstream, void **given, void **) {
    launched = (Launch)kernel, arguments = given;
    peer::grid = {gx, gy, gz}, peer::block = {bx, by, bz};
    long long before[2], after[2];
    sum(before[0], before[1]);
    bool is_done = observer_run((long long)gx * gy * gz, (int)(bx * by * bz), run_it, 0);
    sum(after[0], after[1]);
    Total &total = totals[names[launched]];
    total.launches++, total.read += after[0] - before[0], total.written += after[1] - before[1];
    if (!is_done) fprintf(stderr, "%s\n%s\n", names[launched].c_str(), observer_report());
    return is_done ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

CUresult cuMemAlloc(CUdeviceptr *made, size_t bytes) {
    size_t whole = (bytes / AS_ONE + 1) * AS_ONE;
    char *area = (char *)aligned_alloc(256, whole);
    observer_memory(area, (long long)whole, AS_ONE, 1);
    *made = (CUdeviceptr)area;
    return area ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemAllocManaged(CUdeviceptr *made, size_t bytes, unsigned) { return cuMemAlloc(made, bytes); }
CUresult cuMemFree(CUdeviceptr block) { free((void *)block); return CUDA_SUCCESS; }
CUresult cuMemGetInfo(size_t *left, size_t *all) { *left = *all = 80ull << 30; return CUDA_SUCCESS; }
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) { memcpy((void *)to, from, bytes); return CUDA_SUCCESS; }
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) { memcpy(to, (void *)from, bytes); return CUDA_SUCCESS; }
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream) { return cuMemcpyHtoD(to, from, bytes); }
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream) { return cuMemcpyDtoH(to, from, bytes); }
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
    memmove((void *)to, (void *)from, bytes);
    copied += (long long)bytes;
    return CUDA_SUCCESS;
}

const char *nvrtcGetErrorString(nvrtcResult) { return "the stand-in for NVRTC failed"; }
nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *text, const char *, int, const char *const *, const char *const *) {
    *program = new Program{text, ""};
    return NVRTC_SUCCESS;
}
// PEER_COMPILER is a command that takes a folder with `kernels.cu` and leaves `kernels.so` there.
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options) {
    char folder[] = "/tmp/peer-XXXXXX";
    const char *compiler = getenv("PEER_COMPILER");
    if (!compiler || !mkdtemp(folder)) return NVRTC_ERROR_COMPILATION;
    std::string at = folder;
    FILE *file = fopen((at + "/kernels.cu").c_str(), "w");
    for (int k = 0; k < count; k++) {
        std::string one = options[k];
        if (one.substr(0, 2) == "-D") one[one.find('=')] = ' ', one = "#define " + one.substr(2) + "\n";
        else one = "";
        fputs(one.c_str(), file);
    }
    fputs(program->text.c_str(), file);
    fclose(file);
    program->made = at + "/kernels.so";
    return system((std::string(compiler) + " " + at).c_str()) ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t *size) { *size = 1; return NVRTC_SUCCESS; }
nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char *log) { *log = 0; return NVRTC_SUCCESS; }
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size) { *size = program->made.size() + 1; return NVRTC_SUCCESS; }
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *text) { strcpy(text, program->made.c_str()); return NVRTC_SUCCESS; }
nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) { delete *program; return NVRTC_SUCCESS; }
}
