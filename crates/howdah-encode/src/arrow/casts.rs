//! Numbers as PostgreSQL's integers and floats: which of these is exactly theirs, and which losses are refused.

use super::allowed::{Allowed, lossy};
use super::decimal::Whole;
use super::numbers::{one_nan_f32, one_nan_f64, put_double, put_int, put_single};
use super::source::Cell;
use crate::verdict::NotEncoded;

/// A number as an integer type holds it; other cells are no numbers.
pub(super) fn integer<T: TryFrom<i128>>(
    cell: &Cell<'_>,
    type_name: &str,
    allowed: Allowed,
) -> Result<T, NotEncoded> {
    let rounded = |rounded, is_allowed, loss| {
        if is_allowed {
            return Ok(rounded);
        }
        Err(lossy(|out| put_number(cell, out), "is no whole number", loss))
    };
    let of_float = |value| whole(value, |nearest| rounded(nearest, allowed.floats, "floats"));
    let integer = match *cell {
        Cell::Int(value) => Some(value),
        Cell::Single(value) => of_float(value.into())?,
        Cell::Double(value) => of_float(value)?,
        Cell::Decimal(decimal) => match decimal.whole() {
            Whole::Exact(value) => Some(value),
            Whole::Rounded(value) => Some(rounded(value, allowed.decimals, "decimals")?),
            Whole::TooLarge => None,
        },
        _ => None,
    };
    integer.and_then(|integer| T::try_from(integer).ok()).ok_or_else(|| {
        let mut number = Vec::new();
        put_number(cell, &mut number);
        NotEncoded::out_of_range(type_name, &number)
    })
}

/// A float as an integer; `None` where it is far beyond all integers or no number. `fractional` judges one that had
/// to be rounded, half to even as the server's casts do.
fn whole(
    value: f64,
    fractional: impl FnOnce(i128) -> Result<i128, NotEncoded>,
) -> Result<Option<i128>, NotEncoded> {
    /// Beyond every integer type, and exact here.
    const LIMIT: f64 = (1_u128 << 100) as f64;
    if value.is_nan() || value.abs() >= LIMIT {
        return Ok(None);
    }
    let rounded = value.round_ties_even();
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^100")]
    let integer = rounded as i128;
    if rounded == value { Ok(Some(integer)) } else { fractional(integer).map(Some) }
}

/// A number as a `double precision`; other cells, and decimals, have none here.
pub(super) fn double(cell: &Cell<'_>, allowed: Allowed) -> Result<Option<f64>, NotEncoded> {
    Ok(Some(match *cell {
        Cell::Single(value) => one_nan_f64(value.into()),
        Cell::Double(value) => one_nan_f64(value),
        Cell::Int(value) => {
            #[expect(clippy::cast_precision_loss, reason = "it is looked at")]
            let nearest = value as f64;
            #[expect(clippy::cast_possible_truncation, reason = "a whole number near 2^64 at most")]
            let is_exact = nearest as i128 == value;
            if !is_exact && !allowed.floats {
                return Err(inexact(cell, "double precision"));
            }
            nearest
        }
        _ => return Ok(None),
    }))
}

/// A number as a `real`; other cells, and decimals, have none here.
pub(super) fn single(cell: &Cell<'_>, allowed: Allowed) -> Result<Option<f32>, NotEncoded> {
    Ok(Some(match *cell {
        Cell::Single(value) => one_nan_f32(value),
        Cell::Double(value) => {
            #[expect(clippy::cast_possible_truncation, reason = "it is looked at")]
            let nearest = value as f32;
            // The server's cast lets no number become an infinity or nothing.
            if value.is_finite() && (nearest.is_infinite() || (nearest == 0.0 && value != 0.0)) {
                let mut number = Vec::new();
                put_double(value, &mut number);
                return Err(NotEncoded::out_of_range("real", &number));
            }
            if f64::from(nearest) != value && !value.is_nan() && !allowed.floats {
                return Err(inexact(cell, "real"));
            }
            one_nan_f32(nearest)
        }
        Cell::Int(value) => {
            #[expect(clippy::cast_precision_loss, reason = "it is looked at")]
            let nearest = value as f32;
            #[expect(clippy::cast_possible_truncation, reason = "a whole number near 2^64 at most")]
            let is_exact = nearest as i128 == value;
            if !is_exact && !allowed.floats {
                return Err(inexact(cell, "real"));
            }
            nearest
        }
        _ => return Ok(None),
    }))
}

#[cold]
fn inexact(cell: &Cell<'_>, type_name: &str) -> NotEncoded {
    lossy(|out| put_number(cell, out), &format!("is not exactly a {type_name}"), "floats")
}

/// Appends a number as a message shows it.
fn put_number(cell: &Cell<'_>, out: &mut Vec<u8>) {
    match *cell {
        Cell::Int(value) => put_int(value, out),
        Cell::Single(value) => put_single(value, out),
        Cell::Double(value) => put_double(value, out),
        Cell::Decimal(decimal) => decimal.put(out),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_in_range_become_integers() {
        let none = Allowed::default();
        let floats = Allowed { floats: true, ..none };
        let small = |value: f64, allowed| integer::<i16>(&Cell::Double(value), "smallint", allowed);
        assert_eq!(small(-3.0, none), Ok(-3));
        assert!(small(2.5, none).is_err());
        assert_eq!([2.5, 3.5, -2.5].map(|value| small(value, floats)), [Ok(2), Ok(4), Ok(-2)]);
        for value in [f64::NAN, f64::INFINITY, 1e300, 32_768.0, -32_769.0] {
            let Err(NotEncoded::Invalid(invalid)) = small(value, floats) else { panic!("{value} fits") };
            assert_eq!(invalid.sqlstate, "22003");
        }
    }

    #[test]
    fn no_digit_is_lost_unless_that_is_allowed() {
        let none = Allowed::default();
        let floats = Allowed { floats: true, ..none };
        assert_eq!(double(&Cell::Int(1 << 53), none), Ok(Some(9_007_199_254_740_992.0)));
        assert!(double(&Cell::Int((1 << 53) + 1), none).is_err());
        assert!(double(&Cell::Int((1 << 53) + 1), floats).is_ok());
        assert_eq!(single(&Cell::Double(0.5), none), Ok(Some(0.5)));
        assert!(single(&Cell::Double(0.1), none).is_err());
        assert_eq!(single(&Cell::Double(0.1), floats), Ok(Some(0.1)));
        for value in [1e300, 1e-300] {
            let Err(NotEncoded::Invalid(invalid)) = single(&Cell::Double(value), floats) else {
                panic!("{value} fits")
            };
            assert_eq!(invalid.sqlstate, "22003");
        }
    }
}
