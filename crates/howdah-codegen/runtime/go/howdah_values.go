// This file has the types of values for which Go has none.

import (
	"encoding/hex"
	"fmt"
	"time"
)

// Numeric is the text of a numeric, with its scale: 1.10, NaN, Infinity, -Infinity.
type Numeric string

// UUID is a uuid.
type UUID [16]byte

func (u UUID) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// ParseUUID reads the text of a uuid in its usual form.
func ParseUUID(text string) (UUID, error) {
	var u UUID
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return u, fmt.Errorf("%q is no uuid", text)
	}
	_, err := hex.Decode(u[:], []byte(text[:8]+text[9:13]+text[14:18]+text[19:23]+text[24:]))
	return u, err
}

// TimeTZ is a time of day with the zone that it is in.
type TimeTZ struct {
	// Time is what the clock shows, since midnight.
	Time time.Duration
	// Offset is what the zone's clock is ahead of UTC.
	Offset time.Duration
}

// Interval is an interval. The greatest and the least values of all three stand for infinity and -infinity.
type Interval struct {
	Months       int32
	Days         int32
	Microseconds int64
}

// Dimension is a dimension of an array.
type Dimension struct {
	Length     int32
	LowerBound int32
}

// Array is an array.
type Array[T any] struct {
	// Elements are all elements, those of the last dimension side by side. One that is nil is null.
	Elements []*T
	// Dims may be left out for one dimension that begins at 1.
	Dims []Dimension
}

// ArrayOf makes an array of one dimension.
func ArrayOf[T any](values ...T) Array[T] {
	elements := make([]*T, len(values))
	for i := range values {
		elements[i] = &values[i]
	}
	return Array[T]{Elements: elements}
}

// Values gives the elements of an array of one dimension without nulls.
func (a Array[T]) Values() ([]T, error) {
	if len(a.Dims) > 1 {
		return nil, fmt.Errorf("the array has %d dimensions", len(a.Dims))
	}
	values := make([]T, len(a.Elements))
	for i, element := range a.Elements {
		if element == nil {
			return nil, fmt.Errorf("element %d of the array is null", i+1)
		}
		values[i] = *element
	}
	return values, nil
}

// Range is a range. A bound that is nil is no bound.
type Range[T any] struct {
	Lower          *T
	Upper          *T
	LowerInclusive bool
	UpperInclusive bool
	Empty          bool
}

// Multirange is several ranges.
type Multirange[T any] []Range[T]
