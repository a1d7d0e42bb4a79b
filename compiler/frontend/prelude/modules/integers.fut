-- Members of the integer modules; `t` is the type, `to_unsigned` converts to the unsigned type of its width.

def (>>>) (x: t) (y: t) : t = of_unsigned (shift_unsigned (to_unsigned x) (to_unsigned y))

def get_bit (bit: i32) (x: t) : i32 = t_to_i32 ((x >> t_of_i32 bit) & 1)

def set_bit (bit: i32) (x: t) (b: i32) : t =
  let at = t_of_i32 bit
  in (x & not (1 << at)) | (t_of_i32 b << at)
