"""C code for copies: classify them into blocks, transpositions and others.

Note: normal form of a copy. Dimensions of one element are dropped; one with a negative stride in
the destination is reversed; the order of the others is free, and two that are contiguous in both
LMADs are merged. The result, by falling strides of the destination, is equal for all LMADs that
copy the same cells to the same places. A single dimension of stride 1 on both sides is a block
copy. If the unit-stride dimensions of destination and source differ, it is a transposition of these
two; all further dimensions may have any strides.
"""

from __future__ import annotations

BLOCK = """\
static void ss_copy_some(void *to, const void *from, int64_t bytes) {
    if (bytes < 1 << 20) { memmove(to, from, bytes); return; }
    #pragma omp parallel for
    for (int64_t at = 0; at < bytes; at += 1 << 19)
        memmove((char *)to + at, (const char *)from + at,
                bytes - at < 1 << 19 ? bytes - at : 1 << 19);
}
// A part without elements may begin anywhere: its address is not computed.
#define ss_copy(to, from, bytes) \\
    do { if ((bytes) > 0) { ss_copied(SS_IN_BLOCKS, bytes); ss_copy_some(to, from, bytes); } } \\
    while (0)
"""

MOVE = """\
#define ss_move(to, from, bytes) \\
    do { if ((bytes) > 0) { ss_copied_inside(bytes); __builtin_memmove(to, from, bytes); } } \\
    while (0)
"""

LMADS = """\
// Copies between LMADs whose numbers a run knows. Strides are in elements; cells that are read and
// cells that are written do not meet, unless all are the same.
typedef struct { int64_t size, to, from; } ss_dim;

// Leave out dimensions of one element, turn those around that go backwards in the destination, sort
// them by their strides there, join those that go on evenly. No dimension is empty.
static int ss_simplest(int rank, ss_dim *dims, int64_t *to, int64_t *from) {
    int kept = 0, joined = 0;
    for (int k = 0; k < rank; k++) {
        ss_dim d = dims[k];
        if (d.size == 1) continue;
        if (d.to < 0) {
            *to += (d.size - 1) * d.to;
            *from += (d.size - 1) * d.from;
            d.to = -d.to;
            d.from = -d.from;
        }
        int at = kept++;
        for (; at && dims[at - 1].to < d.to; at--) dims[at] = dims[at - 1];
        dims[at] = d;
    }
    for (int k = 0; k < kept; k++) {
        ss_dim d = dims[k], *last = dims + joined - 1;
        if (joined && last->to == d.to * d.size && last->from == d.from * d.size)
            *last = (ss_dim){last->size * d.size, d.to, d.from};
        else
            dims[joined++] = d;
    }
    return joined;
}

// The dimension whose elements are neighbours in the source, of a transposition; else -1.
static int ss_across(int rank, const ss_dim *dims) {
    if (rank < 2 || dims[rank - 1].to != 1 || dims[rank - 1].from == 1) return -1;
    for (int k = 0; k < rank - 1; k++) if (dims[k].from == 1) return k;
    return -1;
}

static int ss_kind(int rank, const ss_dim *dims) {
    if (!rank || (rank == 1 && dims->to == 1 && dims->from == 1)) return SS_IN_BLOCKS;
    return ss_across(rank, dims) < 0 ? SS_OTHER : SS_TRANSPOSED;
}

// A square through a buffer: it is read along the source and written along the destination. What
// fits into a core's own cache is as fast by plain loops.
#ifndef SS_SQUARES
#define SS_SQUARES (1 << 20)
#endif
enum { SS_SIDE = 32, SS_LONG_ROW = 2048 };
typedef uint8_t __attribute__((may_alias)) ss_cells_1;
typedef uint16_t __attribute__((may_alias)) ss_cells_2;
typedef uint32_t __attribute__((may_alias)) ss_cells_4;
typedef uint64_t __attribute__((may_alias)) ss_cells_8;
#define SS_SQUARE(cell) \\
    static void ss_square_##cell(ss_cells_##cell *to, const ss_cells_##cell *from, \\
                                 int64_t rows, int64_t columns, int64_t apart, int64_t far) { \\
        ss_cells_##cell square[SS_SIDE][SS_SIDE + 1]; \\
        for (int64_t j = 0; j < columns; j++) \\
            for (int64_t i = 0; i < rows; i++) square[i][j] = from[j * far + i]; \\
        for (int64_t i = 0; i < rows; i++) \\
            for (int64_t j = 0; j < columns; j++) to[i * apart + j] = square[i][j]; \\
    }
SS_SQUARE(1)
SS_SQUARE(2)
SS_SQUARE(4)
SS_SQUARE(8)

static void ss_square(char *to, const char *from, int64_t cell, int64_t rows, int64_t columns,
                      int64_t apart, int64_t far) {
    switch (cell) {
    case 1: ss_square_1((void *)to, (const void *)from, rows, columns, apart, far); break;
    case 2: ss_square_2((void *)to, (const void *)from, rows, columns, apart, far); break;
    case 4: ss_square_4((void *)to, (const void *)from, rows, columns, apart, far); break;
    default: ss_square_8((void *)to, (const void *)from, rows, columns, apart, far);
    }
}

// Pieces of the last dimension or squares of the last and `across`, shared out to all cores.
static void ss_copy_pieces(char *to, const char *from, int64_t cell, int rank, const ss_dim *dims,
                           int across, int64_t length, int64_t bytes) {
    int64_t pieces = 1;
    for (int k = 0; k < rank; k++) {
        int64_t step = k == rank - 1 ? length : k == across ? SS_SIDE : 1;
        pieces *= (dims[k].size - 1) / step + 1;
    }
    #pragma omp parallel for if(bytes >= 1 << 19)
    for (int64_t piece = 0; piece < pieces; piece++) {
        int64_t left = piece, t = 0, f = 0, rows = 1, columns = 1;
        for (int k = rank - 1; k >= 0; k--) {
            int64_t step = k == rank - 1 ? length : k == across ? SS_SIDE : 1;
            int64_t many = (dims[k].size - 1) / step + 1, at = left % many * step;
            int64_t here = dims[k].size - at < step ? dims[k].size - at : step;
            left /= many;
            t += at * dims[k].to;
            f += at * dims[k].from;
            if (k == rank - 1) columns = here; else if (k == across) rows = here;
        }
        if (across < 0) memmove(to + t * cell, from + f * cell, columns * cell);
        else ss_square(to + t * cell, from + f * cell, cell, rows, columns,
                       dims[across].to, dims[rank - 1].from);
    }
}

// Look at a copy, count it, and do it unless plain loops do it as well: false then.
static bool ss_copy_lmads(void *to, int64_t to_at, const void *from, int64_t from_at,
                          int64_t cell, int rank, ss_dim *dims) {
    int64_t count = 1;
    for (int k = 0; k < rank; k++) if (dims[k].size <= 0) return true;
    for (int k = 0; k < rank; k++) count *= dims[k].size;
    rank = ss_simplest(rank, dims, &to_at, &from_at);
    int kind = ss_kind(rank, dims), across = ss_across(rank, dims);
    ss_copied(kind, count * cell);
    char *dest = (char *)to + to_at * cell;
    const char *source = (const char *)from + from_at * cell;
    if (kind == SS_IN_BLOCKS) {
        ss_copy_some(dest, source, count * cell);
        return true;
    }
    ss_dim row = dims[rank - 1];
    bool squares = kind == SS_TRANSPOSED && row.size >= 8 && dims[across].size >= 8
                   && count * cell >= SS_SQUARES;
    bool rows = row.to == 1 && row.from == 1 && row.size * cell >= SS_LONG_ROW;
    if (!squares && !rows) return false;
    ss_copy_pieces(dest, source, cell, rank, dims, across, squares ? SS_SIDE : 65536 / cell,
                   count * cell);
    return true;
}
"""
