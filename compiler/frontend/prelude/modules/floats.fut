-- Members of the floating-point modules; `bits` is the module of the unsigned type of its width.

def from_fraction (x: i64) (y: i64) : t = t_of_i64 x / t_of_i64 y

def get_bit (bit: i32) (x: t) : i32 = bits.get_bit bit (to_bits x)

def set_bit (bit: i32) (x: t) (b: i32) : t = from_bits (bits.set_bit bit (to_bits x) b)
