# ruff: noqa: E501
"""Programs of the core language in its text form, for tests of `compiler/ir`."""

from __future__ import annotations

SOACS = r"""
fun twice_1 (x_2: i32) : (r_3: i32) =
  let (y_4: i32) = x_2 * 2i32
  in (y_4)

entry main [n_10, m_11] (xs_12: [n_10]i32, yss_13: *[n_10][m_11]f32, k_14: i64) : (r_15: [n_10]i32, s_16: i32, t_17: [n_10]i32, u_18: *[n_10][m_11]f32, h_19: [10]i32, w_20: f32) =
  let (d_21: [n_10]i32) =
    map [n_10] (xs_12)
      \(x_22: i32) : (i32) ->
        let (q_23: i32) = call twice_1(x_22)
        in (q_23 + 1i32)
  let (s_24: i32) =
    reduce [n_10] (d_21)
      op (0i32) comm \(a_25: i32, b_26: i32) : (i32) -> (a_25 + b_26)
      map \(x_27: i32) : (i32) -> (x_27)
  let (p_28: [n_10]i32, keep_29: [n_10]i64) =
    scan [n_10] (d_21)
      op (0i32) \(a_30: i32, b_31: i32) : (i32) -> (a_30 + b_31)
      map \(x_32: i32) : (i32, i64) -> (x_32, i64.i32(x_32))
  let (z_33: [n_10]i32) = replicate([n_10], 0i32)
  let (is_34: [n_10]i64) = iota(n_10, 0i64, 1i64)
  let (sc_35: [n_10]i32) =
    scatter [n_10] (is_34, d_21)
      into z_33[_]
      map \(i_36: i64, v_37: i32) : (i64, i32) -> (n_10 - i_36 - 1i64, v_37)
  let (hz_38: [10]i32) = replicate([10], 0i32)
  let (h_39: [10]i32) =
    hist [n_10] (xs_12)
      into (hz_38)[_] op (0i32) comm \(a_40: i32, b_41: i32) : (i32) -> (a_40 + b_41)
      map \(x_42: i32) : (i64, i32) -> (i64.i32(x_42 % 10i32), 1i32)
  assert(k_14 >= 0i64 && k_14 < n_10, "index ", k_14, " is out of bounds \"for\" shape [", n_10, "]")
  let (st_70: [10]i32) =
    stream [n_10] (xs_12)
      into (h_39) \(x_71: i32) : () ->
        let () =
          loop () = ()
          for j_72: i64 < 2i64 do
            push (h_39)[i64.i32(x_71) + j_72] = (x_71)
              op \(a_73: i32, b_74: i32) : (i32) -> (a_73 + b_74)
            push (h_39)[j_72] = (5i32)
            in ()
        in ()
  let (row_43: [m_11]f32) = yss_13[k_14, 0:+m_11]
  let (row_44: [m_11]f32) = copy(row_43)
  let (up_45: [n_10][m_11]f32) = yss_13 with [k_14, 0:+m_11] = row_44
  let (tr_46: [m_11][n_10]f32) = rearrange((1, 0), up_45)
  let (fl_47: [m_11*n_10]f32) = reshape([m_11*n_10], up_45)
  let (rev_48: [m_11]f32) = row_44[m_11 - 1:+m_11:-1]
  let (cc_49: [2*m_11]f32) = concat(row_44, rev_48)
  let (lit_50: [3]f32) = [1.5f32, -2.0f32, f32.inf]
  let (w_51: f32, i_52: i64) =
    loop (acc_53: f32, j_54: i64) = (0.0f32, 0i64)
    for i_55: i64 < m_11 do
      let (v_56: f32) = row_44[i_55]
      in (acc_53 + v_56, j_54 + 1i64)
  let (c_57: bool, z_58: i32) =
    loop (go_59: bool, q_60: i32) = (true, 0i32)
    while go_59 do (q_60 < 10i32, q_60 + 1i32)
  let (big_61: [n_10]i32) =
    if n_10 * m_11 > 10i64 || !c_57
    then
      let (e_62: [n_10]i32) = copy(d_21)
      in (e_62)
    else (p_28)
  let (sel_63: f32) = select(z_58 == 10i32, min(w_51, 2.0f32), f32.sqrt_8)
  in (big_61, s_24, sc_35, up_45, st_70, sel_63)
""".replace("f32.sqrt_8", "sqrt(abs(w_51))")

KERNELS = r"""
entry main [n_1, m_2] (xs_3: [n_1][m_2]f32, d_4: *[n_1]f32) : (a_5: [n_1][m_2]f32, b_6: [n_1]f32, c_7: [n_1]f32, e_8: [n_1][m_2]f32, f_9: [n_1][5]i32) =
  let (big_10: bool) = threshold("outer", n_1 * m_2, 32768)
  let (ys_11: [n_1][m_2]f32) =
    segmap @grid (i_12 < n_1, j_13 < m_2) : (f32) ->
      let (x_14: f32) = xs_3[i_12, j_13]
      in (x_14 * 2.0f32)
  let (s_15: [n_1]f32, k_16: [n_1][m_2]f32) =
    segred @grid (i_17 < n_1, j_18 < m_2)
      op (0.0f32) comm \(a_19: f32, b_20: f32) : (f32) -> (a_19 + b_20)
      body : (f32, f32) ->
        let (x_21: f32) = ys_11[i_17, j_18]
        in (x_21, -x_21)
  let (d_22: [n_1]f32) =
    segmap @grid (i_23 < n_1) : ([n_1]f32) ->
      let (s_24: f32) = s_15[i_23]
      in (d_4 with {[n_1 - 1 - i_23] = s_24})
  let (sc_25: [n_1][m_2]f32) =
    segscan @grid (i_26 < n_1, j_27 < m_2)
      op (0.0f32) \(a_28: f32, b_29: f32) : (f32) -> (a_28 + b_29)
      body : (f32) ->
        let (x_30: f32) = k_16[i_26, j_27]
        in (x_30)
  let (z_31: [n_1][5]i32) = replicate([n_1][5], 0i32)
  let (h_32: [n_1][5]i32) =
    seghist @grid (i_33 < n_1, j_34 < m_2)
      into (z_31)[_] op (0i32) comm \(a_35: i32, b_36: i32) : (i32) -> (a_35 + b_36)
      body : (i64, i32) ->
        let (x_37: f32) = xs_3[i_33, j_34]
        in (i64.f32(x_37) % 5i64, 1i32)
  let (rows_38: [n_1][m_2]f32) =
    segmap @grid (i_39 < n_1) per_block : ([m_2]f32) ->
      let (inner_40: [m_2]f32) =
        segmap @block (j_41 < m_2) : (f32) ->
          let (x_42: f32) = sc_25[i_39, j_41]
          in (x_42)
      in (inner_40)
  in (rows_38, s_15, d_22, sc_25, h_32)
"""

MEMORY = r"""
entry main [n_1] (xs_mem_2: mem(f32), xs_3: [n_1]f32 @ xs_mem_2 -> 0 + {(n_1: 1)}) : (r_mem_4: mem(f32), r_5: [n_1]f32 @ r_mem_4 -> 0 + {(n_1: 1)}) =
  let (m_6: mem(f32)) = alloc(n_1, f32)
  let (t_7: mem(f32, shared)) = alloc(16, f32, shared)
  let (rev_8: [n_1]f32 @ xs_mem_2 -> n_1 - 1 + {(n_1: -1)}) = xs_3[n_1 - 1:+n_1:-1]
  let (ys_9: [n_1]f32 @ m_6 -> 0 + {(n_1: 1)}) =
    segmap @grid (i_10 < n_1) : (f32) ->
      let (x_11: f32) = rev_8[i_10]
      in (x_11 + 1.0f32)
  let (q_12: [n_1]f32 @ m_6 -> 0 + {(n_1: 1)}) = scratch([n_1]f32)
  in (m_6, ys_9)
"""

SCALARS = r"""
fun both_20 (a_21: i64, x_22: f64) : (r_23: i64, r_24: f64) =
  let (t_25: i64) = a_21 * a_21
  in (t_25 + 1i64, x_22 - f64.i64(t_25))

entry main (a_1: i64, b_2: i64, x_3: f64, u_4: u8, c_5: bool, y_6: f32) : (r_7: i64) =
  let (t_8: i64) = a_1 + b_2 * a_1 - (b_2 - 3i64)
  let (t_9: i64) = -(a_1 ** 2i64) + (-a_1) ** b_2 + -5i64 - -(5i64) - -(-b_2)
  let (t_10: i64) = a_1 // b_2 %% 7i64 + a_1 / b_2 % 7i64
  let (t_11: i64) = a_1 & b_2 | a_1 ^ !b_2 << 2i64
  let (t_12: bool) = (a_1 < b_2) == c_5 && (c_5 || !c_5) && x_3 != f64.nan
  let (t_13: u32) = to_bits(y_6)
  let (t_14: f32) = from_bits(t_13) * -f32.inf + ldexp(y_6, 3i32)
  let (t_15: i32) = popc(u_4) + clz(a_1)
  let (t_16: f16) = f16.f64(x_3) + 0.1f16 + -0.0f16
  let (t_17: f32) = 1e-10f32 + 3.4028235e+38f32 + 0.1f32 + fma(y_6, y_6, y_6)
  let (t_18: i64) = max(min(a_1, b_2), abs(sgn(b_2))) >> 1i64
  let (t_19: i64) = select(c_5, a_1, i64.bool(c_5))
  let (t_26: i64, t_27: f64) = apply both_20(t_19 + 1i64, x_3)
  in (t_26)
"""

DERIVATIVES = r"""
entry main [n_1] (x_2: f64, ys_3: [n_1]f64) : (r_4: f64, s_5: f64, t_6: f64, u_7: f64, v_8: [n_1]f64, w_18: f64) =
  let (a_9: f64, b_10: f64) =
    jvp (x_2) with (1.0f64)
      \(x_11: f64) : (f64) -> (x_11 * x_11)
  let (c_12: f64, d_13: f64, e_14: [n_1]f64) =
    vjp (x_2 + 1.0f64, ys_3) with (2.0f64)
      \(x_15: f64, ys_16: [n_1]f64) : (f64) ->
        let (y_17: f64) = ys_16[0]
        in (x_15 * y_17)
  let (f_19: f64) =
    with_vjp (x_2)
      \(x_20: f64) : (f64) -> (x_20 * x_20)
      \(y_21: f64, s_22: f64) : (f64) -> (s_22 * 2.0f64)
  in (a_9, b_10, c_12, d_13, e_14, f_19)
"""

ALL = {
    "derivatives": DERIVATIVES,
    "soacs": SOACS,
    "kernels": KERNELS,
    "memory": MEMORY,
    "scalars": SCALARS,
}
