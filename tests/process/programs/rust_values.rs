// rust_values: floating point, returned values, methods, and a marker (USDT) as Rust programs have them. Prints what each
// function was given and what it returned.
use std::arch::asm;

pub struct Shelf {
    pub factor: f64,
}

impl Shelf {
    #[inline(never)]
    pub fn value(&self, count: u32, price: f64) -> f64 {
        std::hint::black_box(self.factor * f64::from(count) * price)
    }
}

#[inline(never)]
#[no_mangle]
pub fn cost(base: f64, rate: f32) -> f64 {
    std::hint::black_box(base * f64::from(rate))
}

#[inline(never)]
#[no_mangle]
pub fn rounded(price: f64) -> f32 {
    std::hint::black_box(price as f32)
}

#[inline(never)]
#[no_mangle]
pub fn scaled(number: i64, by: i32) -> i64 {
    std::hint::black_box(number * i64::from(by))
}

#[inline(never)]
#[no_mangle]
pub fn is_even(number: u32) -> bool {
    std::hint::black_box(number % 2 == 0)
}

// The note that <sys/sdt.h> of SystemTap makes for C: where the place is, and where each argument lies there.
#[inline(never)]
fn sold(units: u64, change: i32) {
    unsafe {
        asm!(
            "990: nop",
            ".pushsection .note.stapsdt,\"\",\"note\"",
            ".balign 4",
            ".4byte 992f-991f, 994f-993f, 3",
            "991: .asciz \"stapsdt\"",
            "992: .balign 4",
            "993: .8byte 990b",
            ".8byte _.stapsdt.base",
            ".8byte 0",
            ".asciz \"shelf\"",
            ".asciz \"sold\"",
            ".asciz \"8@{0} -4@{1:e}\"",
            "994: .balign 4",
            ".popsection",
            ".ifndef _.stapsdt.base",
            ".pushsection .stapsdt.base,\"aGR\",\"progbits\",.stapsdt.base,comdat",
            ".weak _.stapsdt.base",
            ".hidden _.stapsdt.base",
            "_.stapsdt.base: .space 1",
            ".size _.stapsdt.base, 1",
            ".popsection",
            ".endif",
            in(reg) units,
            in(reg) change,
            options(att_syntax, nostack)
        );
    }
}

fn main() {
    let shelf = Shelf { factor: 0.5 };
    for i in 0..20u32 {
        let (base, rate, by) = (f64::from(i) / 8.0, i as f32 / 10.0, 3 - i as i32);
        let costs = cost(base, rate);
        sold(u64::from(i) << 33, by);
        println!(
            "{}|{}|{}|{}|{}|{}|{}|{}|{}",
            base,
            rate,
            costs,
            rounded(costs),
            by,
            scaled(i64::from(i) << 32, by),
            is_even(i),
            shelf.value(i, base),
            u64::from(i) << 33,
        );
    }
}
