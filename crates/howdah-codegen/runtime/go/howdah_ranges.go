// This file reads and writes ranges and multiranges.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

const (
	rangeEmpty          = 0x01
	rangeLowerInclusive = 0x02
	rangeUpperInclusive = 0x04
	rangeNoLower        = 0x08
	rangeNoUpper        = 0x10
)

// rangeOf makes the codec of ranges.
func rangeOf[T any](bound *codec[T], schema, name string) *codec[Range[T]] {
	return &codec[Range[T]]{
		typ: &pgType{schema: schema, name: name, parts: bound.typ.parts},
		decode: func(source []byte) (Range[T], error) {
			return decodeRange(source, bound)
		},
		encode: func(out []byte, value Range[T], known oids) ([]byte, error) {
			return encodeRange(out, value, bound, known)
		},
		literal: func(out []byte, value Range[T]) ([]byte, error) {
			return literalRange(out, value, bound)
		},
	}
}

func (r Range[T]) flags() (byte, error) {
	if r.Empty {
		if r.Lower != nil || r.Upper != nil || r.LowerInclusive || r.UpperInclusive {
			return 0, errors.New("an empty range that has bounds")
		}
		return rangeEmpty, nil
	}
	if r.Lower == nil && r.LowerInclusive || r.Upper == nil && r.UpperInclusive {
		return 0, errors.New("a range that includes a bound that it does not have")
	}
	var flags byte
	if r.Lower == nil {
		flags |= rangeNoLower
	} else if r.LowerInclusive {
		flags |= rangeLowerInclusive
	}
	if r.Upper == nil {
		flags |= rangeNoUpper
	} else if r.UpperInclusive {
		flags |= rangeUpperInclusive
	}
	return flags, nil
}

func decodeRange[T any](source []byte, bound *codec[T]) (Range[T], error) {
	var value Range[T]
	if len(source) == 0 {
		return value, errShort
	}
	flags, source := source[0], source[1:]
	if flags&rangeEmpty != 0 {
		return Range[T]{Empty: true}, nil
	}
	value.LowerInclusive, value.UpperInclusive = flags&rangeLowerInclusive != 0, flags&rangeUpperInclusive != 0
	for _, end := range []struct {
		none byte
		at   **T
	}{{rangeNoLower, &value.Lower}, {rangeNoUpper, &value.Upper}} {
		if flags&end.none != 0 {
			continue
		}
		part, rest, err := field(source)
		if err != nil {
			return value, err
		}
		source = rest
		item, err := bound.decode(part)
		if err != nil {
			return value, fmt.Errorf("bound: %w", err)
		}
		*end.at = &item
	}
	return value, nil
}

func encodeRange[T any](out []byte, value Range[T], bound *codec[T], known oids) ([]byte, error) {
	flags, err := value.flags()
	if err != nil {
		return out, err
	}
	out = append(out, flags)
	for _, end := range []*T{value.Lower, value.Upper} {
		if end == nil {
			continue
		}
		if out, err = appendField(out, bound, end, known); err != nil {
			return out, fmt.Errorf("bound: %w", err)
		}
	}
	return out, nil
}

func literalRange[T any](out []byte, value Range[T], bound *codec[T]) ([]byte, error) {
	flags, err := value.flags()
	if err != nil {
		return out, err
	}
	if flags == rangeEmpty {
		return append(out, "empty"...), nil
	}
	ends := []struct {
		value     *T
		separator byte
	}{{value.Lower, ','}, {value.Upper, ')'}}
	if value.UpperInclusive {
		ends[1].separator = ']'
	}
	first := byte('(')
	if value.LowerInclusive {
		first = '['
	}
	out = append(out, first)
	for _, end := range ends {
		if end.value != nil {
			literal, err := bound.literal(nil, *end.value)
			if err != nil {
				return out, fmt.Errorf("bound: %w", err)
			}
			out = appendQuoted(out, literal)
		}
		out = append(out, end.separator)
	}
	return out, nil
}

// multirangeOf makes the codec of multiranges.
func multirangeOf[T any](part *codec[Range[T]], schema, name string) *codec[Multirange[T]] {
	return &codec[Multirange[T]]{
		typ: &pgType{schema: schema, name: name, parts: part.typ.parts},
		decode: func(source []byte) (Multirange[T], error) {
			if len(source) < 4 {
				return nil, errShort
			}
			value := Multirange[T]{}
			for source = source[4:]; len(source) > 0; {
				bytes, rest, err := field(source)
				if err != nil {
					return nil, err
				}
				item, err := part.decode(bytes)
				if err != nil {
					return nil, err
				}
				value, source = append(value, item), rest
			}
			return value, nil
		},
		encode: func(out []byte, value Multirange[T], known oids) ([]byte, error) {
			if len(value) > math.MaxInt32 {
				return out, errors.New("a multirange of too many ranges")
			}
			out = binary.BigEndian.AppendUint32(out, uint32(len(value)))
			for i := range value {
				var err error
				if out, err = appendField(out, part, &value[i], known); err != nil {
					return out, err
				}
			}
			return out, nil
		},
		literal: func(out []byte, value Multirange[T]) ([]byte, error) {
			out = append(out, '{')
			for i := range value {
				if i > 0 {
					out = append(out, ',')
				}
				var err error
				if out, err = part.literal(out, value[i]); err != nil {
					return out, err
				}
			}
			return append(out, '}'), nil
		},
	}
}
