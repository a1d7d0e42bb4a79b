// The words of the languages that panes show; the same as in compiler/public/lexers.py (a test compares them).

const list = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

export const KEYWORDS = list(`
and assert case def do else entry false for if import in include let local loop match module
open sig then true type val while with`);

export const PRIMS = list(`i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bool`);

export const FUNCTIONS = list(`
map map1 map2 map3 map4 map5 reduce reduce_comm scan scatter reduce_by_index filter partition
iota replicate zip zip3 zip4 zip5 unzip unzip3 unzip4 unzip5 transpose flatten unflatten
reverse rotate concat take drop head last tabulate tabulate_2d length copy radix_sort
radix_sort_int radix_sort_float`);

export const IR_WORDS = list(`
alloc apply asking assert atomic await barrier bins block blocks body by call comm concat
copy device do else entry exchange exit fold for free frees from fun get gives grid hist
host if in indices into iota jvp launch let locked loop map mem neutral of op part per_block
point points private publish push ranges rearrange reduce replicate reshape return scan
scatter scope scratch seghist segmap segred segscan shared shuffle sizes stream takes then
thread threshold ticket times to unroll var vjp while wide with with_vjp zeros`);

export const FLATPACK_KEYWORDS = list(`let in type Of`);

export const FLATPACK_FUNCTIONS = list(`
GetData Literal Enumerate Split Join Zip Repack Let LetMap map Arith If Fold Filter Twist
HasShape As size N Transpose RotateL RotateR Slice SubRange DownSample Smap Compose Plus
Minus Times Divide min max head last tail init take drop transpose concat zipWith sum product
mean dotProduct positions`);

export const FLATPACK_TYPES = list(`Int Scalar`);

export const C_WORDS = list(`
auto break case char const continue default do double else enum extern float for goto if inline
int long register restrict return short signed sizeof static struct switch typedef union unsigned
void volatile while bool true false __global__ __device__ __shared__ __restrict__`);

export const C_TYPES = list(`
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t index_t half dim3`);
