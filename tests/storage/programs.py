"""Programs at stage `flat`, as text, one per thing that memory has to be right for."""

from __future__ import annotations

MAP = r"""
entry main [n_1] (xs_2: [n_1]f32) : (r_3: [n_1]f32) =
  let (ys_4: [n_1]f32) =
    segmap @grid (i_5 < n_1) : (f32) ->
      let (x_6: f32) = xs_2[i_5]
      in (x_6 * 2.0f32)
  in (ys_4)
"""

TRANSPOSED = r"""
entry main [n_1, m_2] (xs_3: [n_1][m_2]i32) : (r_4: [m_2][n_1]i32) =
  let (ys_5: [m_2][n_1]i32) = rearrange((1, 0), xs_3)
  in (ys_5)
"""

IF_TRANSPOSED = r"""
entry main [n_1] (c_2: bool, a_3: [n_1][n_1]f32) : (r_4: [n_1]f32) =
  let (b_5: [n_1][n_1]f32) =
    if c_2
      then (a_3)
      else
        let (t_6: [n_1][n_1]f32) = rearrange((1, 0), a_3)
        in (t_6)
  let (s_7: [n_1]f32) =
    segred @grid (i_8 < n_1, j_9 < n_1)
      op (0.0f32) comm \(p_10: f32, q_11: f32) : (f32) -> (p_10 + q_11)
      body : (f32) ->
        let (x_12: f32) = b_5[i_8, j_9]
        in (x_12)
  in (s_7)
"""

IF_SIZES = r"""
entry main (c_1: bool, k_2: i64, l_3: i64) : (m_4: i64, r_5: [m_4]i64) =
  let (z_6: i64, zs_7: [z_6]i64) =
    if c_1
      then
        let (x_8: [k_2]i64) = iota(k_2, 0i64, 1i64)
        in (k_2, x_8)
      else
        let (y_9: [l_3]i64) = iota(l_3, 5i64, 2i64)
        in (l_3, y_9)
  in (z_6, zs_7)
"""

IN_PLACE_LOOP = r"""
entry main [n_1] (xs_2: *[n_1]i32, k_3: i64) : (r_4: [n_1]i32) =
  let (zs_5: [n_1]i32) =
    loop (ys_6: *[n_1]i32) = (xs_2) for i_7: i64 < k_3 do
      let (y_8: i32) = ys_6[i_7]
      let (ws_9: [n_1]i32) = ys_6 with [i_7] = y_8 + 1i32
      in (ws_9)
  in (zs_5)
"""

STENCIL = r"""
entry main [n_1] (xs_2: [n_1]f32, k_3: i64) : (r_4: [n_1]f32) =
  let (zs_5: [n_1]f32) =
    loop (ys_6: [n_1]f32) = (xs_2) for t_7: i64 < k_3 do
      let (ws_8: [n_1]f32) =
        segmap @grid (i_9 < n_1) : (f32) ->
          let (a_10: f32) = ys_6[max(0i64, i_9 - 1i64)]
          let (b_11: f32) = ys_6[min(n_1 - 1i64, i_9 + 1i64)]
          in ((a_10 + b_11) * 0.5f32)
      in (ws_8)
  in (zs_5)
"""

SWAP_LOOP = r"""
entry main [n_1] (xs_2: [n_1]i32, ys_3: [n_1]i32, k_4: i64) : (r_5: [n_1]i32, s_6: [n_1]i32) =
  let (as_7: [n_1]i32, bs_8: [n_1]i32) =
    loop (a_9: [n_1]i32, b_10: [n_1]i32) = (xs_2, ys_3) for i_11: i64 < k_4 do
      (b_10, a_9)
  in (as_7, bs_8)
"""

REVERSE_LOOP = r"""
entry main [n_1] (xs_2: [n_1]i32, k_3: i64) : (r_4: [n_1]i32) =
  let (zs_5: [n_1]i32) =
    loop (ys_6: [n_1]i32) = (xs_2) for i_7: i64 < k_3 do
      let (rev_8: [n_1]i32) = ys_6[n_1 - 1:+n_1:-1]
      in (rev_8)
  in (zs_5)
"""

GROWING_LOOP = r"""
entry main (k_1: i64) : (m_2: i64, r_3: [m_2]i64) =
  let (e_4: [1]i64) = iota(1, 7i64, 1i64)
  let (l_5: i64, zs_6: [l_5]i64) =
    loop (m_7: i64, ys_8: [m_7]i64) = (1i64, e_4) for i_9: i64 < k_1 do
      let (cc_10: [2*m_7]i64) = concat(ys_8, ys_8)
      in (m_7 * 2i64, cc_10)
  in (l_5, zs_6)
"""

CONCAT = r"""
entry main [n_1, m_2] (xs_3: [n_1]f64, ys_4: [m_2]f64) : (r_5: [2*n_1 + m_2]f64) =
  let (rev_6: [n_1]f64) = xs_3[n_1 - 1:+n_1:-1]
  let (zs_7: [2*n_1 + m_2]f64) = concat(xs_3, ys_4, rev_6)
  in (zs_7)
"""

STRIDED_UPDATE = r"""
entry main [n_1] (xs_2: *[2*n_1]i32, k_3: i32) : (r_4: [2*n_1]i32) =
  let (vs_5: [n_1]i32) = replicate([n_1], k_3)
  let (ys_6: [2*n_1]i32) = xs_2 with [1:+n_1:2] = vs_5
  let (fl_7: [n_1][2]i32) = reshape([n_1][2], ys_6)
  let (tr_8: [2][n_1]i32) = rearrange((1, 0), fl_7)
  let (zs_9: [2*n_1]i32) = reshape([2*n_1], tr_8)
  in (zs_9)
"""

SCATTER = r"""
entry main [n_1, m_2] (d_3: *[m_2]i32, is_4: [n_1]i64, vs_5: [n_1]i32)
  : (r_6: [m_2]i32, k_7: [n_1]i32) =
  let (e_8: [m_2]i32, keep_9: [n_1]i32) =
    segmap @grid (i_10 < n_1) : ([m_2]i32, i32) ->
      let (at_11: i64) = is_4[i_10]
      let (v_12: i32) = vs_5[i_10]
      in (d_3 with {[at_11] = v_12}, v_12 + 1i32)
  in (e_8, keep_9)
"""

HIST_SCAN = r"""
entry main [n_1] (is_2: [n_1]i64) : (h_3: [4]i32, s_4: [4]i32, t_5: i32) =
  let (z_6: [4]i32) = replicate([4], 0i32)
  let (h_7: [4]i32) =
    seghist @grid (i_8 < n_1)
      into (z_6)[_] op (0i32) comm \(a_9: i32, b_10: i32) : (i32) -> (a_9 + b_10)
      body : (i64, i32) ->
        let (at_11: i64) = is_2[i_8]
        in (at_11, 1i32)
  let (s_12: [4]i32) =
    segscan @grid (i_13 < 4)
      op (0i32) \(a_14: i32, b_15: i32) : (i32) -> (a_14 + b_15)
      body : (i32) ->
        let (x_16: i32) = h_7[i_13]
        in (x_16)
  let (t_17: i32) =
    segred @grid (i_18 < 4)
      op (0i32) comm \(a_19: i32, b_20: i32) : (i32) -> (max(a_19, b_20))
      body : (i32) ->
        let (x_21: i32) = s_12[i_18]
        in (x_21)
  in (h_7, s_12, t_17)
"""

ROWS = r"""
entry main [n_1, m_2] (xs_3: [n_1][m_2]i32) : (r_4: [n_1][m_2]i32) =
  let (ys_5: [n_1][m_2]i32) =
    segmap @grid (i_6 < n_1) : ([m_2]i32) ->
      let (row_7: [m_2]i32) = xs_3[i_6, 0:+m_2]
      let (tmp_8: [m_2]i32) = copy(row_7)
      let (out_9: [m_2]i32) =
        loop (acc_10: *[m_2]i32) = (tmp_8) for j_11: i64 < m_2 do
          let (a_12: i32) = acc_10[j_11]
          let (new_13: [m_2]i32) = acc_10 with [j_11] = a_12 * 2i32
          in (new_13)
      in (out_9)
  in (ys_5)
"""

KERNEL_LOOP = r"""
entry main [n_1, m_2] (xs_3: [n_1][m_2]i32, k_4: i64) : (r_5: [n_1]i32) =
  let (ys_6: [n_1]i32) =
    segmap @grid (i_7 < n_1) : (i32) ->
      let (row_8: [m_2]i32) = xs_3[i_7, 0:+m_2]
      let (out_9: [m_2]i32) =
        loop (acc_10: [m_2]i32) = (row_8) for t_11: i64 < k_4 do
          let (new_12: [m_2]i32) =
            segmap @thread (j_13 < m_2) : (i32) ->
              let (a_14: i32) = acc_10[j_13]
              let (b_15: i32) = acc_10[m_2 - 1 - j_13]
              in (a_14 + b_15 * 3i32)
          in (new_12)
      let (s_16: i32) =
        segred @thread (j_17 < m_2)
          op (0i32) comm \(a_18: i32, b_19: i32) : (i32) -> (a_18 + b_19)
          body : (i32) ->
            let (x_20: i32) = out_9[j_17]
            in (x_20)
      in (s_16)
  in (ys_6)
"""

KERNEL_SWAP = r"""
entry main [n_1] (xs_2: [n_1][3]i32, k_3: i64) : (r_4: [n_1]i32) =
  let (ys_5: [n_1]i32) =
    segmap @grid (i_6 < n_1) : (i32) ->
      let (row_7: [3]i32) = xs_2[i_6, 0:+3]
      let (rep_8: [3]i32) = replicate([3], 5i32)
      let (p_9: [3]i32, q_10: [3]i32) =
        loop (a_11: [3]i32, b_12: [3]i32) = (row_7, rep_8) for t_13: i64 < k_3 do
          let (n_14: [3]i32) =
            segmap @thread (j_15 < 3) : (i32) ->
              let (u_16: i32) = a_11[j_15]
              let (v_17: i32) = b_12[2 - j_15]
              in (u_16 + v_17)
          in (b_12, n_14)
      let (x_18: i32) = p_9[0]
      let (y_19: i32) = q_10[2]
      in (x_18 * 1000i32 + y_19)
  in (ys_5)
"""

KERNEL_IF = r"""
entry main [n_1, m_2] (xs_3: [n_1][m_2]i32, c_4: [n_1]bool) : (r_5: [n_1][m_2]i32) =
  let (ys_6: [n_1][m_2]i32) =
    segmap @grid (i_7 < n_1) : ([m_2]i32) ->
      let (c_8: bool) = c_4[i_7]
      let (row_9: [m_2]i32) = xs_3[i_7, 0:+m_2]
      let (z_10: [m_2]i32) =
        if c_8
          then
            let (t_11: [m_2]i32) = replicate([m_2], 7i32)
            in (t_11)
          else (row_9)
      in (z_10)
  in (ys_6)
"""

TRIANGLE = r"""
entry main (n_1: i64) : (r_2: [n_1]i64) =
  let (ys_3: [n_1]i64) =
    segmap @grid (i_4 < n_1) : (i64) ->
      let (m_5: i64) = i_4 * 100i64 + 1i64
      let (is_6: [m_5]i64) = iota(m_5, 0i64, 1i64)
      let (s_7: i64) =
        loop (acc_8: i64) = (0i64) for j_9: i64 < m_5 do
          let (x_10: i64) = is_6[j_9]
          in (acc_8 + x_10)
      in (s_7)
  in (ys_3)
"""

READ_SIZES = r"""
entry main [n_1] (ks_2: [n_1]i64) : (r_3: [n_1]i64) =
  let (ys_4: [n_1]i64) =
    segmap @grid (i_5 < n_1) : (i64) ->
      let (k_6: i64) = ks_2[i_5]
      let (m_7: i64) = max(0i64, k_6)
      let (is_8: [m_7]i64) = iota(m_7, 1i64, 1i64)
      let (s_9: i64) =
        loop (acc_10: i64) = (0i64) for j_11: i64 < m_7 do
          let (x_12: i64) = is_8[j_11]
          in (acc_10 + x_12)
      in (s_9)
  in (ys_4)
"""

PER_BLOCK = r"""
entry main [n_1, m_2] (xs_3: [n_1][m_2]i32) : (r_4: [n_1][m_2]i32) =
  let (ys_5: [n_1][m_2]i32) =
    segmap @grid (i_6 < n_1) per_block : ([m_2]i32) ->
      let (sc_7: [m_2]i32) =
        segscan @block (j_8 < m_2)
          op (0i32) \(a_9: i32, b_10: i32) : (i32) -> (a_9 + b_10)
          body : (i32) ->
            let (x_11: i32) = xs_3[i_6, j_8]
            in (x_11)
      let (fixed_12: [8]i32) =
        segmap @block (q_13 < 8) : (i32) ->
          let (x_14: i32) = sc_7[q_13 % m_2]
          in (x_14)
      let (out_15: [m_2]i32) =
        segmap @block (j_16 < m_2) : (i32) ->
          let (x_17: i32) = sc_7[m_2 - 1 - j_16]
          let (y_18: i32) = fixed_12[j_16 % 8]
          in (x_17 - y_18)
      in (out_15)
  in (ys_5)
"""

ARRAY_OPERATORS = r"""
entry main [n_1, m_2] (xss_3: [n_1][m_2]i32, is_4: [n_1]i64)
  : (r_5: [m_2]i32, q_6: [n_1]i32, s_7: [n_1][m_2]i32, h_8: [4][m_2]i32) =
  let (zero_9: [m_2]i32) = replicate([m_2], 0i32)
  let (red_10: [m_2]i32, keep_11: [n_1]i32) =
    segred @grid (i_12 < n_1)
      op (zero_9) \(x_13: [m_2]i32, y_14: [m_2]i32) : ([m_2]i32) ->
        let (z_15: [m_2]i32) =
          segmap @thread (j_16 < m_2) : (i32) ->
            let (a_17: i32) = x_13[j_16]
            let (b_18: i32) = y_14[m_2 - 1 - j_16]
            in (a_17 * 2i32 + b_18)
        in (z_15)
      body : ([m_2]i32, i32) ->
        let (row_19: [m_2]i32) = xss_3[i_12, 0:+m_2]
        in (row_19, i32.i64(i_12) * 3i32)
  let (scan_20: [n_1][m_2]i32) =
    segscan @grid (i_21 < n_1)
      op (zero_9) \(x_22: [m_2]i32, y_23: [m_2]i32) : ([m_2]i32) ->
        let (z_24: [m_2]i32) =
          segmap @thread (j_25 < m_2) : (i32) ->
            let (a_26: i32) = x_22[j_25]
            let (b_27: i32) = y_23[j_25]
            in (a_26 + b_27)
        in (z_24)
      body : ([m_2]i32) ->
        let (row_28: [m_2]i32) = xss_3[i_21, 0:+m_2]
        in (row_28)
  let (bins_29: [4][m_2]i32) = replicate([4][m_2], 1i32)
  let (hist_30: [4][m_2]i32) =
    seghist @grid (i_31 < n_1)
      into (bins_29)[_] op (zero_9) \(x_32: [m_2]i32, y_33: [m_2]i32) : ([m_2]i32) ->
        let (z_34: [m_2]i32) =
          segmap @thread (j_35 < m_2) : (i32) ->
            let (a_36: i32) = x_32[j_35]
            let (b_37: i32) = y_33[j_35]
            in (max(a_36, b_37))
        in (z_34)
      body : (i64, [m_2]i32) ->
        let (at_38: i64) = is_4[i_31]
        let (row_39: [m_2]i32) = xss_3[i_31, 0:+m_2]
        in (at_38 - 1i64, row_39)
  in (red_10, keep_11, scan_20, hist_30)
"""

IRREGULAR = r"""
entry main [n_1] (ks_2: [n_1]i64) : (r_3: [n_1]i64) =
  let (ys_4: [n_1]i64) =
    segmap @grid (i_5 < n_1) : (i64) ->
      let (k_6: i64) = ks_2[i_5]
      let (l_7: i64, zs_8: [l_7]i64) =
        if k_6 > 2i64
        then
          let (a_9: [k_6]i64) = iota(k_6, 5i64, 1i64)
          in (k_6, a_9)
        else
          let (m_10: i64) = i_5 + 1i64
          let (b_11: [m_10]i64) = iota(m_10, 1i64, 2i64)
          let (rev_12: [m_10]i64) = b_11[m_10 - 1:+m_10:-1]
          in (m_10, rev_12)
      let (s_13: i64) =
        loop (acc_14: i64) = (0i64)
        for j_15: i64 < l_7 do
          let (x_16: i64) = zs_8[j_15]
          in (acc_14 * 3i64 + x_16)
      in (s_13)
  in (ys_4)
"""

FILTERED = r"""
entry main [n_1, m_2] (xss_3: [n_1][m_2]i32) : (r_4: [n_1]i32) =
  let (ys_5: [n_1]i32) =
    segmap @grid (i_6 < n_1) : (i32) ->
      let (counts_7: [m_2]i64) = scratch([m_2]i64)
      let (total_8: i64, offs_9: [m_2]i64) =
        loop (t_10: i64, o_11: *[m_2]i64) = (0i64, counts_7)
        for j_12: i64 < m_2 do
          let (x_13: i32) = xss_3[i_6, j_12]
          let (o_14: [m_2]i64) = o_11 with [j_12] = t_10
          in (t_10 + i64.bool(x_13 > 1i32), o_14)
      let (dest_15: [total_8]i32) = replicate([total_8], 0i32)
      let (kept_16: [total_8]i32) =
        loop (d_17: *[total_8]i32) = (dest_15)
        for j_18: i64 < m_2 do
          let (x_19: i32) = xss_3[i_6, j_18]
          let (o_20: i64) = offs_9[j_18]
          let (d_21: [total_8]i32) =
            if x_19 > 1i32
            then
              let (e_22: [total_8]i32) = d_17 with [o_20] = x_19
              in (e_22)
            else (d_17)
          in (d_21)
      let (s_23: i32) =
        loop (acc_24: i32) = (0i32)
        for j_25: i64 < total_8 do
          let (x_26: i32) = kept_16[j_25]
          in (acc_24 * 5i32 + x_26)
      in (s_23)
  in (ys_5)
"""
