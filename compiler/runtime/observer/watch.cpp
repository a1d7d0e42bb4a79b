// Runs the threads of kernels in turns, and watches each access to memory.
//
// A kernel's text is compiled with -fsanitize=thread, which calls a function before every access;
// the functions are these. Each thread of a block has a stack of its own and runs up to a barrier
// before the next one does. What is found:
// - two threads that touch a cell, one of them writing, with nothing that says who comes first,
//   unless both write what the cell then has in any case: the same bits;
// - a barrier to which not all threads of a block come; a cell outside of all blocks of memory;
// - a cell that is read before anything has been written to it;
// - for the threads of a warp that are in the same iteration of all loops, which cells they touch.
// Memory is as on one processor: what only a weaker order of writes shows is not found. But who reads
// what a thread of another block has written must know of it: by a fence there, then an atomic write,
// which an atomic or volatile read sees here, then a fence.
//
// Blocks of threads run one after the other, those of kernels in which threads pause for each other in
// turns: at barriers, pauses and where something is published another block may go on.
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "device.hpp"

namespace observer {
namespace {

enum { MOST_THREADS = 1024, STACK = 1 << 17, WARP = 32, SECTOR = 32, DEEPEST = 24 };
enum { RESIDENT = 40 };  // blocks that take turns: more than a warp looks back at
enum { SAMPLED_WARPS = 4, SAMPLED_STEPS = 4, TICKS = 1 << 14 };
const size_t MOST_REQUESTS = 1 << 18;  // of a block of threads, that are taken apart
const uintptr_t ALONE = UINTPTR_MAX, ATOMIC = 0;

// Who came to a cell last, after how many barriers and fences, and under which lock if at all.
struct Visit {
    long long block;
    int thread, barriers, fences;
    uintptr_t lock;
    bool is;
    bool meets(const Visit &other) const;
};
// What a thread published: all that it did before so many fences, and others before so many barriers.
struct Told {
    long long block;
    int thread, barriers, fences;
    bool covers(const Visit &v) const {
        return v.block == block && (v.barriers < barriers || (v.thread == thread && v.fences < fences));
    }
};
struct Cell {
    long long stamp = -1;
    Visit write, read;
};
struct Memory {
    char *base;
    long long bytes;
    int size;
    std::vector<bool> written;
    Cell *cells;  // zeros, of no launch: a page of cells that no thread touches costs nothing
    Memory(char *base, long long bytes, int size, bool written)
        : base(base), bytes(bytes), size(size), written(bytes / size, written),
          cells((Cell *)calloc(bytes / size, sizeof(Cell))) {
        if (!cells && bytes >= size) throw std::bad_alloc();
    }
    ~Memory() { free(cells); }
};
struct Fiber {
    ucontext_t context;
    jmp_buf at;
    bool started = false, done = true;
    bool ready = true;
    int waits = 0;  // in which line
    bool shuffles = false;  // it waits for its warp alone
    int lane = 0;           // whose value it asks for
    unsigned long long gives = 0, takes = 0;
    bool says = false;
    uintptr_t swapped = 0, lock = 0;
    int fences = 0, barriers = 0;      // how many it came to, and to how many barriers before the last
    std::vector<Told> seen, known;     // of what was published: what it has read, and read before a fence
    bool pauses = false, yields = false;  // until others have run, or to let others run
    int depth = 0, loop[DEEPEST], turn[DEEPEST];
};
struct Request {
    void *where;
    int warp;
    uintptr_t lanes[WARP];
};
struct Key {
    void *where;
    int warp, again;
    uint64_t step;
    bool operator==(const Key &o) const {
        return where == o.where && warp == o.warp && again == o.again && step == o.step;
    }
};
struct Hash {
    size_t operator()(const Key &k) const {
        return ((size_t)k.where * 31 + k.warp * 1000003u + k.again) ^ k.step;
    }
};
struct Sample {
    int warp, step;
    uintptr_t lanes[WARP];
};
struct Site {
    bool shared = false, partial = false;
    int kind = 0, size = 0;  // 0 reads, 1 writes, 2 both at once
    long long first = -1, visits = 0, requests = 0, lanes = 0, bytes = 0;
    long long sectors = 0, fewest = 0, passes = 0, least = 0;
    std::vector<Sample> samples;
};
struct Problem {
    long long count = 0, block = 0;
    int thread = 0;
};

// What there is of a block of threads while another one runs.
struct Block {
    long long number = 0, serial = 0;
    int barriers = 0;
    bool is_stuck = false;
    std::vector<Fiber> fibers = std::vector<Fiber>(MOST_THREADS);
    char *stacks = nullptr;
    std::vector<char> memory;  // which it shares
    std::vector<Cell> shared;
    std::vector<Request> requests;
    std::unordered_map<Key, size_t, Hash> open;
};

std::vector<Block *> places;  // for blocks that run in turns; the first is for those that do not
Block *here;
std::unordered_map<Cell *, std::vector<Told>> published;
Fiber *fibers;
char *stacks;
jmp_buf scheduler;
ucontext_t home;
std::vector<Memory *> memories;
Memory *last_memory;
std::vector<Cell> shared;
std::map<void *, Site> sites;
std::map<std::pair<std::string, void *>, Problem> problems;
std::unordered_map<Key, size_t, Hash> open;
std::vector<Request> requests;
void (*kernel)();
int order, current, barriers, threads_now;
long long block_now, launch, serial, serials, ticks;
bool in_turns;
long long copied;  // bytes from one block of memory to another
std::map<int, long long> met;  // how often each barrier was, by its line
int skipped;
double until;
bool recording, running, ended;
std::string told;
unsigned seed;

// The shared memory of all kernels lies in one section of their library.
char *shared_low, *shared_high;
// Of that, what launches tell the size of: the room for it, and how much of it the launch has.
char *room_low, *room_high, *launched_high;

// A write to a cell that another thread has written, which may come first as well: it is wrong if the
// cell becomes another one, which is seen once the thread goes on.
struct Meeting {
    char *at = nullptr;
    int size;
    void *where;
    char before[16];
} meeting;

unsigned any(unsigned below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

void leave() {
    running = false;
    meeting.at = nullptr;
    _longjmp(scheduler, 1);
}

void problem(const char *what, void *where, bool fatal = false) {
    Problem &one = problems[{what, where}];
    if (!one.count++) one.block = block_now, one.thread = current;
    if (fatal) {
        ended = true;
        leave();
    }
}

// A place that is known by its line.
void *in_line(int line) { return (void *)(intptr_t)-line; }

void tick(void *where) {
    if (++ticks % TICKS == 0 && now() > until) problem("the deadline has passed", where, true);
}

Memory *find(char *at) {
    if (last_memory && at >= last_memory->base && at < last_memory->base + last_memory->bytes)
        return last_memory;
    auto after = std::upper_bound(memories.begin(), memories.end(), at,
                                  [](char *p, Memory *m) { return p < m->base; });
    if (after == memories.begin()) return nullptr;
    Memory *found = *--after;
    return at < found->base + found->bytes ? last_memory = found : nullptr;
}

bool Visit::meets(const Visit &other) const {
    if (!is || (lock != ALONE && lock == other.lock)) return false;
    if (block == other.block) return thread != other.thread && barriers == other.barriers;
    for (const Told &one : fibers[current].known) if (one.covers(*this)) return false;
    return true;
}

void settle() {
    if (!meeting.at) return;
    bool differs = memcmp(meeting.at, meeting.before, meeting.size);
    meeting.at = nullptr;
    if (differs) problem("race: two writes of different values", meeting.where);
}

// Compare an access with those before it to the same cell, and remember it; whether both are writes
// that may come in any order.
bool visit(Cell &cell, long long stamp, bool writes, bool atomic, uintptr_t lock, void *where) {
    Visit mine{block_now, current, barriers, fibers[current].fences, lock, true};
    if (cell.stamp != stamp) cell = Cell(), cell.stamp = stamp, cell.write.is = cell.read.is = false;
    bool both = writes && cell.write.meets(mine);
    if (!writes && cell.write.meets(mine)) problem("race: a read and a write", where);
    if (writes && cell.read.meets(mine)) problem("race: a write and a read", where);
    if (writes) cell.write = mine;
    if (writes && !atomic) return both;
    Visit &read = cell.read;
    if (!read.is || (read.block == block_now && read.barriers != barriers)) {
        read = mine;
        return both;
    }
    if (read.block != block_now) read.block = -1;  // of several blocks
    if (read.thread != current) read.thread = -1;
    if (read.lock != lock) read.lock = ALONE;
    return both;
}

void meet(char *at, int size, void *where) {
    meeting.size = std::min(size, (int)sizeof meeting.before), meeting.where = where;
    memcpy(meeting.before, at, meeting.size);
    meeting.at = at;
}

void record(Site &site, char *at, void *where) {
    Fiber &me = fibers[current];
    Key key{where, current / WARP, 0, 1469598103934665603ull};
    for (int k = 0; k < me.depth && k < DEEPEST; k++) key.step = (key.step ^ me.turn[k]) * 1099511628211ull;
    for (;; key.again++) {
        auto found = open.find(key);
        if (found == open.end()) {
            if (requests.size() >= MOST_REQUESTS) {
                site.partial = true;
                return;
            }
            found = open.emplace(key, requests.size()).first;
            requests.push_back(Request{where, key.warp, {}});
        }
        uintptr_t &lane = requests[found->second].lanes[current % WARP];
        if (lane) continue;
        lane = (uintptr_t)at;
        return;
    }
}

// How many different ones there are, of a sorted list.
template <class T> long long different(std::vector<T> &v) {
    std::sort(v.begin(), v.end());
    return std::unique(v.begin(), v.end()) - v.begin();
}

// The requests of a block of threads that has ended: what each one costs.
void count_requests() {
    std::map<std::pair<void *, int>, int> steps;
    std::vector<uintptr_t> bytes, units;
    for (Request &one : requests) {
        Site &site = sites[one.where];
        site.requests++;
        bytes.clear();
        units.clear();
        int unit = site.shared ? 4 : SECTOR;
        for (uintptr_t lane : one.lanes) {
            if (!lane) continue;
            site.lanes++;
            for (int k = 0; k < site.size; k++) bytes.push_back(lane + k);
            for (uintptr_t u = lane / unit; u <= (lane + site.size - 1) / unit; u++) units.push_back(u);
        }
        long long needed = different(bytes), count = different(units);
        site.bytes += needed;
        if (site.shared) {
            int banks[WARP] = {}, most = 0;
            for (long long k = 0; k < count; k++) most = std::max(most, ++banks[units[k] % WARP]);
            site.passes += most;
            site.least += (needed + 4 * WARP - 1) / (4 * WARP);
        } else {
            site.sectors += count;
            site.fewest += (needed + SECTOR - 1) / SECTOR;
        }
        int step = steps[{one.where, one.warp}]++;
        if (site.first < 0) site.first = serial;
        if (site.first == serial && one.warp < SAMPLED_WARPS && step < SAMPLED_STEPS) {
            site.samples.push_back(Sample{one.warp, step, {}});
            memcpy(site.samples.back().lanes, one.lanes, sizeof one.lanes);
        }
    }
    requests.clear();
    open.clear();
}

void to_scheduler() {
    settle();
    if (!_setjmp(fibers[current].at)) _longjmp(scheduler, 1);
}

// A fiber runs one thread after another.
void life() {
    for (;;) {
        kernel();
        settle();
        fibers[current].done = true;
        fibers[current].waits = 0;
        to_scheduler();
    }
}

void resume(int t) {
    Fiber &f = fibers[t];
    current = t;
    running = true;
    if (!_setjmp(scheduler)) {
        if (f.started) _longjmp(f.at, 1);
        f.started = true;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = stacks + (size_t)t * STACK;
        f.context.uc_stack.ss_size = STACK;
        f.context.uc_link = nullptr;
        makecontext(&f.context, life, 0);
        swapcontext(&home, &f.context);
    }
    running = false;
}

void arrange(std::vector<long long> &v) {
    if (order == 1) std::reverse(v.begin(), v.end());
    if (order == 2)
        for (size_t k = v.size(); k > 1; k--) std::swap(v[k - 1], v[any((unsigned)k)]);
}

// Give the lanes of warps that have all come to a shuffle what they ask for; whether there are any.
bool shuffle_warps(int threads) {
    bool some = false;
    for (int first = 0; first < threads; first += WARP) {
        int end = std::min(threads, first + WARP), at = 0;
        bool later = false;  // some lanes may still come
        for (int t = first; t < end; t++) {
            if (!fibers[t].done && fibers[t].shuffles) at = fibers[t].waits;
            later = later || (!fibers[t].done && (fibers[t].pauses || fibers[t].yields));
        }
        if (!at || later) continue;
        some = true;
        bool apart = false;
        for (int t = first; t < end; t++) {
            Fiber &f = fibers[t];
            bool is_here = !f.done && f.shuffles && f.waits == at;
            apart = apart || !is_here;
            int from = first + (f.lane & (WARP - 1));
            if (is_here) f.takes = fibers[from < end ? from : t].gives;
        }
        for (int t = first; t < end; t++) {
            Fiber &f = fibers[t];
            f.ready = f.ready || (!f.done && f.shuffles);
            f.shuffles = false;
        }
        if (apart) problem("not all lanes of the warp come to this shuffle", in_line(at));
    }
    return some;
}

// Put a block of threads where threads run.
void enter(Block *block) {
    if (here == block) return;
    if (here) {
        here->number = block_now, here->serial = serial, here->barriers = barriers;
        here->memory.assign(shared_low, shared_high);
        here->shared.swap(shared), here->requests.swap(requests), here->open.swap(open);
    }
    here = block;
    block_now = block->number, serial = block->serial, barriers = block->barriers;
    fibers = block->fibers.data(), stacks = block->stacks;
    block->shared.swap(shared), block->requests.swap(requests), block->open.swap(open);
    if (block->memory.size() == (size_t)(shared_high - shared_low))
        std::copy(block->memory.begin(), block->memory.end(), shared_low);
    shared.resize(shared_high - shared_low);
}

Block *place(size_t number) {
    while (places.size() <= number) {
        auto *made = new Block();
        made->stacks = (char *)mmap(nullptr, (size_t)MOST_THREADS * STACK, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        places.push_back(made);
    }
    return places[number];
}

void begin_block(long long b, int threads) {
    block_now = b;
    barriers = 0;
    serial = ++serials;
    here->is_stuck = false;
    for (int t = 0; t < threads; t++) {
        Fiber &f = fibers[t];
        f.done = false;
        f.ready = true;
        f.shuffles = false;
        f.depth = 0;
        f.loop[0] = -1;
        f.swapped = f.lock = 0;
        f.fences = f.barriers = 0;
        f.seen.clear(), f.known.clear();
        f.pauses = f.yields = false;
    }
}

// Threads run up to a barrier, a shuffle or a pause, those of a warp behind their shuffle again;
// whether the block has more to do.
bool go_on(int threads) {
    std::vector<long long> turns(threads);
    for (bool again = true; again && !ended;) {
        for (int t = 0; t < threads; t++) turns[t] = t;
        arrange(turns);
        here->is_stuck = true;
        for (long long t : turns)
            if (!fibers[t].done && fibers[t].ready && !ended) {
                Fiber &f = fibers[t];
                bool paused = f.pauses;
                f.ready = f.pauses = f.yields = false;
                resume((int)t);
                here->is_stuck = here->is_stuck && paused && f.pauses;
            }
        again = !ended && shuffle_warps(threads);
        here->is_stuck = here->is_stuck && !again;
    }
    if (ended) return false;
    bool turns_over = false;
    for (int t = 0; t < threads; t++) {
        Fiber &f = fibers[t];
        if (!f.done && (f.pauses || f.yields)) turns_over = f.ready = true;
    }
    if (turns_over) return true;
    int at = 0, done = 0;
    bool said = false, apart = false;
    for (int t = 0; t < threads; t++) {
        if (fibers[t].done) done++;
        else if (!at) at = fibers[t].waits;
        else if (at != fibers[t].waits) apart = true;
        said = said || (!fibers[t].done && fibers[t].says);
    }
    bool more = done < threads;
    if (more && (apart || done)) problem("not all threads of the block come to this barrier", in_line(at));
    for (int t = 0; t < threads; t++) fibers[t].says = said, fibers[t].ready = true;
    if (more) barriers++, met[at]++;
    return more;
}

void end_block(int threads) {
    if (ended)
        for (int t = 0; t < threads; t++) fibers[t].started = false;
    count_requests();
}

// Blocks in turns. Ascending, one goes on until it is done or has to wait; descending, each leaves
// the place to one that begins, and the last goes on first.
void run_in_turns(const std::vector<long long> &blocks, int threads) {
    std::vector<Block *> running, vacant;
    for (size_t k = 0; k < RESIDENT; k++) vacant.push_back(place(k));
    size_t begun = 0;
    while (!ended && (begun < blocks.size() || !running.empty())) {
        std::vector<Block *> able;
        for (Block *one : running) if (!one->is_stuck) able.push_back(one);
        bool may_begin = begun < blocks.size() && !vacant.empty();
        bool begins = may_begin && (able.empty() || order == 1 || (order == 2 && !any(3)));
        if (begins) {
            enter(vacant.back());
            vacant.pop_back();
            begin_block(blocks[begun++], threads);
            running.push_back(here);
        } else {
            if (able.empty()) able = running;
            enter(order == 0 ? able.front() : order == 1 ? able.back() : able[any((unsigned)able.size())]);
        }
        bool more = go_on(threads);
        if (!here->is_stuck) for (Block *one : running) if (one != here) one->is_stuck = false;
        if (more) continue;
        end_block(threads);
        running.erase(std::find(running.begin(), running.end(), here));
        vacant.push_back(here);
    }
    for (Block *one : running) {  // where a problem has ended it all
        enter(one);
        end_block(threads);
    }
}

}  // namespace

Place thread() { return Place{(unsigned)current}; }
Place block() { return Place{(unsigned)block_now}; }
Place threads() { return Place{(unsigned)threads_now}; }

bool wait(int line, bool said) {
    if (line == skipped) return said;
    fibers[current].waits = line;
    fibers[current].says = said;
    to_scheduler();
    return fibers[current].says;
}

// What another lane gives, once all lanes of the warp are here.
unsigned long long shuffle(int line, unsigned long long mine, int lane) {
    Fiber &me = fibers[current];
    me.waits = line, me.shuffles = true, me.lane = lane, me.gives = mine;
    to_scheduler();
    return fibers[current].takes;
}

// A lock is what was swapped before the fence, up to when it is given back.
void fence() {
    Fiber &me = fibers[current];
    if (!me.lock) me.lock = me.swapped;
    me.fences++, me.barriers = barriers;
    me.known.insert(me.known.end(), me.seen.begin(), me.seen.end());
    me.seen.clear();
}

// Let other blocks run: one of them has to do something first, or may.
void rest() {
    fibers[current].pauses = true;
    to_scheduler();
}
void may_yield() {
    if (!in_turns || !fibers[current].fences || fibers[current].lock) return;
    fibers[current].yields = true;
    to_scheduler();
}
void swapped(void *at, bool done) { fibers[current].swapped = done ? (uintptr_t)at : 0; }
void given_back(void *at) {
    Fiber &me = fibers[current];
    if (me.lock == (uintptr_t)at) me.lock = me.swapped = 0;
}

Turn::Turn(int line) {
    tick(in_line(line + 1));
    Fiber &me = fibers[current];
    int d = me.depth++;
    if (d + 1 >= DEEPEST) return;
    if (me.loop[d] == line) me.turn[d]++;
    else me.loop[d] = line, me.turn[d] = 0;
    me.loop[d + 1] = -1;
}
Turn::~Turn() { fibers[current].depth--; }

// What is published goes with the cell, from those who have come to a fence to those who read it.
void publish(Cell &cell, bool writes) {
    Fiber &me = fibers[current];
    auto found = published.find(&cell);
    if (found != published.end()) me.seen.insert(me.seen.end(), found->second.begin(), found->second.end());
    if (!writes || !me.fences) return;
    Told mine{block_now, current, me.barriers, me.fences};
    std::vector<Told> &all = published[&cell];
    for (Told &one : all) if (one.block == mine.block && one.thread == mine.thread) { one = mine; return; }
    all.push_back(mine);
}

// `atomic`: at once with what others do so. What is volatile is under the lock that the thread has;
// without one a read is at once, and a write is as any other.
void access(void *p, int size, bool writes, bool atomic, bool is_volatile, void *where) {
    char *at = (char *)p;
    if (!running || (at >= stacks && at < stacks + (size_t)MOST_THREADS * STACK)) return;
    settle();
    tick(where);
    uintptr_t held = is_volatile ? fibers[current].lock : 0;
    uintptr_t lock = held ? held : atomic || (is_volatile && !writes) ? ATOMIC : ALONE;
    bool of_block = at >= shared_low && at < shared_high;
    Memory *memory = of_block ? nullptr : find(at);
    if (!of_block && (!memory || at + size > memory->base + memory->bytes))
        problem("outside of all blocks of memory", where, true);
    if (at >= room_low && at < room_high && at + size > launched_high)
        problem("outside of the shared memory of the launch", where, true);
    if (of_block) {
        size_t first = at - shared_low;
        size_t found = problems.size();
        bool both = false;
        for (size_t k = first; k < first + size && problems.size() == found; k++) {
            if (!writes && (shared[k].stamp != serial || !shared[k].write.is))
                problem("a cell is read that nothing has written", where);
            both = visit(shared[k], serial, writes, atomic, lock, where) || both;
        }
        if (both) meet(at, size, where);
    } else {
        if ((uintptr_t)at % size) problem("what is touched at once lies at no multiple of its bytes", where);
        size_t first = (at - memory->base) / memory->size;
        size_t behind = std::max<size_t>(first + 1, (at + size - memory->base) / memory->size);
        for (size_t cell = first; cell < behind; cell++) {
            if ((!writes || atomic) && !memory->written[cell])
                problem("a cell is read that nothing has written", where);
            if (writes) memory->written[cell] = true;
            Cell &touched = memory->cells[cell];
            if (visit(touched, launch, writes, atomic, lock, where)) meet(at, size, where);
            if (lock == ATOMIC) publish(touched, writes);
        }
    }
    if (!recording) return;
    Site &site = sites[where];
    site.shared = of_block;
    site.kind = atomic ? 2 : writes;
    site.size = size;
    site.visits++;
    record(site, at, where);
}
void access(void *at, int size, bool writes, bool atomic, void *where) {
    access(at, size, writes, atomic, false, where);
}

}  // namespace observer

using namespace observer;

extern "C" {
#define FROM __builtin_return_address(0)
#define ACCESSES(n) \
    void __tsan_read##n(void *p) { access(p, n, false, false, false, FROM); } \
    void __tsan_write##n(void *p) { access(p, n, true, false, false, FROM); } \
    void __tsan_unaligned_read##n(void *p) { access(p, n, false, false, false, FROM); } \
    void __tsan_unaligned_write##n(void *p) { access(p, n, true, false, false, FROM); } \
    void __tsan_volatile_read##n(void *p) { access(p, n, false, false, true, FROM); } \
    void __tsan_volatile_write##n(void *p) { access(p, n, true, false, true, FROM); }
ACCESSES(1) ACCESSES(2) ACCESSES(4) ACCESSES(8) ACCESSES(16)
void __tsan_read_range(void *p, long n) { access(p, (int)n, false, false, false, FROM); }
void __tsan_write_range(void *p, long n) { access(p, (int)n, true, false, false, FROM); }
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_init() {}

// An index of an array of constant size that is none of it.
void __ubsan_handle_out_of_bounds(void *, void *) { problem("outside of an array", FROM, true); }

// Begin anew: threads run ascending (0), descending (1) or in any order (2). The barrier in line
// `without` is none.
void observer_begin(int how, int records, double seconds, int without) {
    for (Block *one : places) one->memory.clear();
    here = nullptr;
    enter(place(0));
    order = how, recording = records, until = now() + seconds, seed = how + 1;
    for (Memory *one : memories) delete one;
    memories.clear();
    last_memory = nullptr;
    sites.clear(), problems.clear(), requests.clear(), open.clear();
    met.clear();
    launch = serial = serials = ticks = copied = 0;
    skipped = without;
    ended = running = false;
}

// A library of kernels, with the arrays of blocks of threads there.
void observer_shared(char *low, char *high) {
    ended = false;
    shared_low = low, shared_high = high;
    room_low = room_high = nullptr;
    for (Block *one : places) one->memory.clear(), one->shared.clear();
    shared.assign(high - low, Cell());
}

// How many bytes of the shared memory that launches tell the size of the next launch has.
void observer_at_launch(char *low, int room, int bytes) {
    room_low = low, room_high = low ? low + room : low, launched_high = low + bytes;
}

// A block of memory; what overlaps it is there no more.
void observer_memory(char *base, long long bytes, int size, int written) {
    last_memory = nullptr;
    memories.erase(std::remove_if(memories.begin(), memories.end(), [=](Memory *m) {
        bool gone = m->base < base + bytes && base < m->base + m->bytes;
        if (gone) delete m;
        return gone;
    }), memories.end());
    auto *made = new Memory(base, bytes, size, written);
    memories.insert(std::upper_bound(memories.begin(), memories.end(), base, [](char *p, Memory *m) { return p < m->base; }), made);
}

// The host writes cells, or copies them from others (else `from` is null).
void observer_written(char *to, char *from, long long bytes) {
    Memory *target = find(to), *source = from ? find(from) : nullptr;
    if (source) copied += bytes;
    for (long long k = 0; target && k < bytes; k += target->size) {
        size_t cell = (to - target->base + k) / target->size;
        target->written[cell] = !source || source->written[(from - source->base + k) / source->size];
    }
}

// The host reads cells, which must have been written: no kernel runs after that.
void observer_is_read(char *from, long long bytes) {
    Memory *m = find(from);
    for (long long k = 0; m && k < bytes && !ended; k += m->size)
        if (!m->written[(from - m->base + k) / m->size])
            problem("The host reads a cell that nothing has written.", nullptr), ended = true;
}

// Run a kernel, its blocks in turns if they wait for each other; whether it came to its end.
int observer_run(long long blocks, int threads, void (*function)(), int waits) {
    kernel = function, threads_now = threads;
    launch++;
    published.clear();
    in_turns = waits;
    std::vector<long long> turns(blocks);
    for (long long b = 0; b < blocks; b++) turns[b] = b;
    arrange(turns);
    if (in_turns) run_in_turns(turns, threads);
    else for (long long b : turns)
        if (!ended) {
            begin_block(b, threads);
            while (go_on(threads)) {}
            end_block(threads);
        }
    return !ended;
}

// A launch gives a kernel a block to be written that it takes to be constant.
void observer_not_constant() { problem("a block that is taken to be constant may be written", nullptr); }

// All that was found, a line each, in words that a blank divides. Places are offsets in the library,
// or, below 0, lines.
const char *observer_report() {
    Dl_info info;
    auto offset = [&](void *p) {
        if ((intptr_t)p <= 0) return (long long)(intptr_t)p;
        return dladdr(p, &info) ? (long long)((char *)p - (char *)info.dli_fbase) : 0ll;
    };
    char line[2000];
    until = now() + 1e9;  // the run is over, and its deadline with it
    told.clear();
    for (auto &[key, one] : problems) {
        snprintf(line, sizeof line, "problem %lld %lld %lld %d %s\n", offset(key.second), one.count, one.block, one.thread, key.first.c_str());
        told += line;
    }
    for (auto &[at, count] : met) {
        snprintf(line, sizeof line, "barrier %d %lld\n", -at, count);
        told += line;
    }
    snprintf(line, sizeof line, "copied 0 %lld\nlaunched 0 %lld\n", copied, (long long)launch);
    told += line;
    for (auto &[where, s] : sites) {
        snprintf(line, sizeof line, "site %lld %d %d %d %d %lld %lld %lld %lld %lld %lld %lld %lld\n", offset(where), s.shared, s.partial,
                 s.kind, s.size, s.visits, s.requests, s.lanes, s.bytes, s.sectors, s.fewest, s.passes, s.least);
        told += line;
        for (Sample &one : s.samples) {
            snprintf(line, sizeof line, "sample %lld %d %d", offset(where), one.warp, one.step);
            told += line;
            for (uintptr_t lane : one.lanes) {
                Memory *m = s.shared || !lane ? nullptr : find((char *)lane);
                uintptr_t base = s.shared ? (uintptr_t)shared_low : m ? (uintptr_t)m->base : 0;
                snprintf(line, sizeof line, " %lld", lane ? (long long)(lane - base) : -1ll);
                told += line;
            }
            told += "\n";
        }
    }
    return told.c_str();
}
}
