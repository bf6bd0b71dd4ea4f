// rust_texts: functions that take texts and references as Rust has them. Prints what each was given.
pub struct Item<'a> {
    pub id: u64,
    pub name: &'a str,
    pub owned: String,
}

#[inline(never)]
#[no_mangle]
pub fn take_str(text: &str, number: u32) -> usize {
    std::hint::black_box(text).len() + number as usize
}

#[inline(never)]
#[no_mangle]
pub fn take_item(item: &Item, number: u8) -> usize {
    let seen = std::hint::black_box(item);
    seen.name.len() + seen.owned.len() + number as usize
}

#[inline(never)]
#[no_mangle]
pub fn take_string(borrowed: &String, moved: String, number: u8) -> usize {
    std::hint::black_box(&moved).len() + std::hint::black_box(borrowed).len() + number as usize
}

pub struct Point {
    pub x: i32,
    pub y: i32,
}

#[inline(never)]
#[no_mangle]
pub fn take_point(at: Point, after: u64) -> u64 {
    std::hint::black_box(at.x + at.y) as u64 + std::hint::black_box(after)
}

#[inline(never)]
#[no_mangle]
pub fn take_references(numbers: &Vec<i32>, bytes: &mut Vec<u8>, price: &f64, count: &mut u32, at: &Point) -> u64 {
    *count += 1;
    bytes.push(9);
    std::hint::black_box(numbers.len() as u64 + *price as u64 + at.x as u64)
}

fn main() {
    let text = "a text of Rust, which no NUL ends";
    for i in 0..20usize {
        let part = &text[..i];
        let item = Item { id: i as u64, name: &text[i..i + 4], owned: format!("owned {}", i) };
        let sum = take_str(part, i as u32) + take_item(&item, 7) + take_string(&item.owned, part.to_string(), 9);
        let numbers: Vec<i32> = (0..i as i32).map(|n| n - 5).collect();
        let (mut bytes, mut count) = (vec![i as u8], i as u32);
        take_references(&numbers, &mut bytes, &(i as f64 / 4.0), &mut count, &Point { x: i as i32, y: 0 });
        println!("{}|{}|{}|{}", part, item.name, item.owned, sum + take_point(Point { x: i as i32, y: 2 }, 42) as usize);
    }
}
