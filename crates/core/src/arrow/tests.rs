use std::ptr;
use std::sync::Arc;

use super::Chunked;
use super::abi::{ArrowArray, ArrowSchema};
use super::export::{Buffer, Column};
use crate::error::Error;

fn handed_over(column: Column) -> Chunked {
    let column = Arc::new(column);
    // SAFETY: both are of `column`.
    unsafe { Chunked::from_array(column.schema(), column.array()).unwrap() }
}

fn strings(offsets: Vec<i32>, text: &str) -> Column {
    Column::new(c"u", c"text", offsets.len() - 1, vec![offsets.into(), text.as_bytes().to_vec().into()])
}

fn refusal(column: Column) -> String {
    match handed_over(column).rows() {
        Err(Error::Invalid(message)) => message,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn rows_of_a_column_are_read_where_they_lie() {
    let column = handed_over(strings(vec![0, 2, 2, 5], "abxyz"));
    assert_eq!(column.rows().unwrap().texts().unwrap(), ["ab", "", "xyz"]);
    let table =
        Column::new(c"+s", c"", 2, Vec::new()).with_children(vec![strings(vec![0, 2, 2, 5], "abxyz")]);
    assert_eq!(handed_over(table).rows().unwrap().texts().unwrap(), ["ab", ""]);
}

#[test]
fn memory_lives_until_the_last_copy_is_released() {
    let column = Arc::new(strings(vec![0, 2], "ab"));
    let copies: Vec<(ArrowSchema, ArrowArray)> = (0..3).map(|_| (column.schema(), column.array())).collect();
    assert_eq!(Arc::strong_count(&column), 7);
    drop(copies);
    assert_eq!(Arc::strong_count(&column), 1);
    let table =
        Arc::new(Column::new(c"+s", c"", 1, Vec::new()).with_children(vec![strings(vec![0, 2], "ab")]));
    let array = table.array();
    // SAFETY: the array has one child. A consumer may move it away, if it leaves a released one.
    let child = unsafe { ptr::replace(*array.children, ArrowArray::default()) };
    drop(array);
    drop(table);
    // SAFETY: the child owns its memory.
    let moved = unsafe { Chunked::from_array(Arc::new(strings(vec![0], "")).schema(), child).unwrap() };
    assert_eq!(moved.rows().unwrap().texts().unwrap(), ["ab"]);
}

#[test]
fn damaged_columns_are_refused() {
    assert!(refusal(strings(vec![-1, 2], "ab")).contains("row 0 of the column ends before it begins"));
    assert!(refusal(strings(vec![0, 2, -5], "ab")).contains("ends before it begins"));
    assert!(refusal(Column::new(c"u", c"", 1, vec![vec![0i32, 1].into()])).contains("lacks buffer 2"));
    let missing = Column::new(c"u", c"", 1, vec![vec![0i32, 1].into(), Buffer::missing()]);
    assert!(refusal(missing).contains("buffer 2 of an Arrow array is missing"));
    assert!(refusal(Column::new(c"+s", c"", 3, Vec::new())).contains("a table of 0 columns"));
    let short = Column::new(c"+s", c"", 3, Vec::new()).with_children(vec![strings(vec![0, 1], "a")]);
    assert!(refusal(short).contains("rows 0 to 3 of an Arrow array that has 1"));
    let views = vec![20u32, 0, 7, 0];
    let view = Column::new(c"vu", c"", 1, vec![views.into(), Vec::<i64>::new().into()]);
    assert!(refusal(view).contains("lies outside the buffers"));
    assert!(refusal(Column::new(c"?", c"", 0, Vec::new())).contains("the type \"?\""));
}

#[test]
fn released_structs_are_refused() {
    // SAFETY: they are released.
    let refused = unsafe { Chunked::from_array(ArrowSchema::default(), ArrowArray::default()) };
    assert!(matches!(refused, Err(Error::Invalid(message)) if message.contains("has been released")));
}

#[test]
fn metadata_comes_back() {
    let pairs = [(b"key".to_vec(), b"value".to_vec()), (Vec::new(), vec![0, 255])];
    assert_eq!(handed_over(strings(vec![0], "").with_metadata(&pairs)).metadata(), pairs);
    assert!(handed_over(strings(vec![0], "")).metadata().is_empty());
}
