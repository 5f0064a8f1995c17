// This file reads and writes arrays, ranges and composite types, which are made of other types.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// maxDims are the dimensions that an array has at the most.
const maxDims = 6

var errShort = errors.New("a value that ends too early")

// field takes a value with its length off a source; nil stands for null.
func field(source []byte) (value, rest []byte, err error) {
	if len(source) < 4 {
		return nil, nil, errShort
	}
	length := int32(binary.BigEndian.Uint32(source))
	source = source[4:]
	if length == -1 {
		return nil, source, nil
	}
	if length < 0 || int(length) > len(source) {
		return nil, nil, errShort
	}
	return source[:length:length], source[length:], nil
}

// appendField appends the binary form of a value after its length.
func appendField[T any](out []byte, c *codec[T], value *T, known oids) ([]byte, error) {
	if value == nil {
		return append(out, 0xff, 0xff, 0xff, 0xff), nil
	}
	start := len(out)
	out, err := c.encode(append(out, 0, 0, 0, 0), *value, known)
	if err != nil {
		return out, err
	}
	length := len(out) - start - 4
	if length > math.MaxInt32 {
		return out, errors.New("a value of more than 2 GiB")
	}
	binary.BigEndian.PutUint32(out[start:], uint32(length))
	return out, nil
}

// appendQuoted appends a literal as a part of another one.
func appendQuoted(out, literal []byte) []byte {
	out = append(out, '"')
	for _, c := range literal {
		if c == '"' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return append(out, '"')
}

// arrayOf makes the codec of arrays.
func arrayOf[T any](element *codec[T], schema, name string, delimiter byte) *codec[Array[T]] {
	made := &codec[Array[T]]{
		typ: &pgType{schema: schema, name: name, array: true, parts: []*pgType{element.typ}},
		decode: func(source []byte) (Array[T], error) {
			return decodeArray(source, element)
		},
		encode: func(out []byte, value Array[T], known oids) ([]byte, error) {
			return encodeArray(out, value, element, known)
		},
		literal: func(out []byte, value Array[T]) ([]byte, error) {
			return literalArray(out, value, element, delimiter)
		},
	}
	if element.typ.text {
		made.typ.text, made.typ.parts = true, nil
		made.decode = func(source []byte) (Array[T], error) {
			return parseArray(source, element, delimiter)
		}
	}
	return made
}

// dimensions checks those of an array.
func dimensions[T any](value Array[T]) ([]Dimension, error) {
	if value.Dims == nil {
		if len(value.Elements) == 0 {
			return nil, nil
		}
		if len(value.Elements) > math.MaxInt32 {
			return nil, errors.New("an array of too many elements")
		}
		return []Dimension{{int32(len(value.Elements)), 1}}, nil
	}
	if len(value.Dims) > maxDims {
		return nil, fmt.Errorf("an array of %d dimensions", len(value.Dims))
	}
	count := min(len(value.Dims), 1)
	for _, dim := range value.Dims {
		if dim.Length < 1 || int64(dim.LowerBound)+int64(dim.Length) > math.MaxInt32 {
			return nil, fmt.Errorf("an array with a dimension of %d elements from %d on", dim.Length, dim.LowerBound)
		}
		if count > len(value.Elements) {
			break
		}
		count *= int(dim.Length)
	}
	if count != len(value.Elements) {
		return nil, fmt.Errorf("an array of %d elements with dimensions of other ones", len(value.Elements))
	}
	return value.Dims, nil
}

func decodeArray[T any](source []byte, element *codec[T]) (Array[T], error) {
	var value Array[T]
	if len(source) < 12 {
		return value, errShort
	}
	depth := binary.BigEndian.Uint32(source)
	source = source[12:]
	if depth > maxDims || len(source) < 8*int(depth) {
		return value, errShort
	}
	for ; depth > 0; depth-- {
		length, lower := binary.BigEndian.Uint32(source), binary.BigEndian.Uint32(source[4:])
		value.Dims = append(value.Dims, Dimension{int32(length), int32(lower)})
		source = source[8:]
	}
	value.Elements = []*T{}
	for len(source) > 0 {
		part, rest, err := field(source)
		if err != nil {
			return value, err
		}
		source = rest
		if part == nil {
			value.Elements = append(value.Elements, nil)
			continue
		}
		item, err := element.decode(part)
		if err != nil {
			return value, fmt.Errorf("element %d: %w", len(value.Elements)+1, err)
		}
		value.Elements = append(value.Elements, &item)
	}
	_, err := dimensions(value)
	return value, err
}

func encodeArray[T any](out []byte, value Array[T], element *codec[T], known oids) ([]byte, error) {
	dims, err := dimensions(value)
	if err != nil {
		return out, err
	}
	nulls := uint32(0)
	if slices.Contains(value.Elements, nil) {
		nulls = 1
	}
	out = binary.BigEndian.AppendUint32(out, uint32(len(dims)))
	out = binary.BigEndian.AppendUint32(out, nulls)
	out = binary.BigEndian.AppendUint32(out, known.of(element.typ))
	for _, dim := range dims {
		out = binary.BigEndian.AppendUint32(out, uint32(dim.Length))
		out = binary.BigEndian.AppendUint32(out, uint32(dim.LowerBound))
	}
	for i, item := range value.Elements {
		if out, err = appendField(out, element, item, known); err != nil {
			return out, fmt.Errorf("element %d: %w", i+1, err)
		}
	}
	return out, nil
}

func literalArray[T any](out []byte, value Array[T], element *codec[T], delimiter byte) ([]byte, error) {
	dims, err := dimensions(value)
	if err != nil {
		return out, err
	}
	if len(dims) == 0 {
		return append(out, "{}"...), nil
	}
	if slices.ContainsFunc(dims, func(dim Dimension) bool { return dim.LowerBound != 1 }) {
		for _, dim := range dims {
			out = fmt.Appendf(out, "[%d:%d]", dim.LowerBound, int64(dim.LowerBound)+int64(dim.Length)-1)
		}
		out = append(out, '=')
	}
	for i, item := range value.Elements {
		if i > 0 {
			out = append(out, delimiter)
		}
		// A dimension begins, or ends, where its parts are complete.
		size := 1
		braces := 0
		for _, dim := range slices.Backward(dims) {
			if size *= int(dim.Length); i%size == 0 {
				braces++
			}
		}
		out = append(out, bytes.Repeat([]byte{'{'}, braces)...)
		if item == nil {
			out = append(out, "NULL"...)
		} else {
			literal, err := element.literal(nil, *item)
			if err != nil {
				return out, fmt.Errorf("element %d: %w", i+1, err)
			}
			out = appendQuoted(out, literal)
		}
		size, braces = 1, 0
		for _, dim := range slices.Backward(dims) {
			if size *= int(dim.Length); (i+1)%size == 0 {
				braces++
			}
		}
		out = append(out, bytes.Repeat([]byte{'}'}, braces)...)
	}
	return out, nil
}

// parseArray reads the text of an array, as the server writes it.
func parseArray[T any](source []byte, element *codec[T], delimiter byte) (Array[T], error) {
	var value Array[T]
	bounds, body, found := bytes.Cut(source, []byte("="))
	if !found || len(source) == 0 || source[0] != '[' {
		bounds, body = nil, source
	}
	var lower []int32
	for _, bound := range bytes.FieldsFunc(bounds, func(c rune) bool { return c == '[' || c == ']' }) {
		first, _, _ := bytes.Cut(bound, []byte(":"))
		number, err := strconv.ParseInt(string(first), 10, 32)
		if err != nil {
			return value, err
		}
		lower = append(lower, int32(number))
	}
	value.Elements = []*T{}
	// How many parts each open brace has.
	var lengths, open []int32
	begin := func() {
		if len(open) > 0 {
			open[len(open)-1]++
		}
	}
	for at := 0; at < len(body); {
		switch c := body[at]; c {
		case '{':
			begin()
			open = append(open, 0)
			at++
		case '}':
			if len(open) == 0 {
				return value, errShort
			}
			for len(lengths) < len(open) {
				lengths = append(lengths, 0)
			}
			lengths[len(open)-1] = open[len(open)-1]
			open = open[:len(open)-1]
			at++
		case delimiter:
			at++
		default:
			text, end, null := arrayToken(body, at, delimiter)
			at = end
			begin()
			if null {
				value.Elements = append(value.Elements, nil)
				continue
			}
			item, err := element.decode(text)
			if err != nil {
				return value, err
			}
			value.Elements = append(value.Elements, &item)
		}
	}
	if len(value.Elements) > 0 {
		for i, length := range lengths {
			value.Dims = append(value.Dims, Dimension{length, 1})
			if i < len(lower) {
				value.Dims[i].LowerBound = lower[i]
			}
		}
	}
	_, err := dimensions(value)
	return value, err
}

// arrayToken gives the element that begins at a place, and where it ends.
func arrayToken(body []byte, at int, delimiter byte) (text []byte, end int, null bool) {
	quoted := body[at] == '"'
	if quoted {
		at++
	}
	for ; at < len(body); at++ {
		c := body[at]
		if quoted && c == '"' {
			return text, at + 1, false
		}
		if !quoted && (c == delimiter || c == '}') {
			break
		}
		if c == '\\' && at+1 < len(body) {
			at++
			c = body[at]
		}
		text = append(text, c)
	}
	return text, at, string(text) == "NULL"
}

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

// compositeOf makes the codec of a composite type from what reads and writes its fields.
func compositeOf[T any](schema, name string, read func(*reader) T, write func(*writer, T), parts ...*pgType) *codec[T] {
	return &codec[T]{
		typ: &pgType{schema: schema, name: name, parts: parts},
		decode: func(source []byte) (T, error) {
			var zero T
			r := reader{values: make([][]byte, 0, len(parts))}
			if len(source) < 4 || binary.BigEndian.Uint32(source) != uint32(len(parts)) {
				return zero, fmt.Errorf("the type has not %d fields: generate the code again", len(parts))
			}
			for source = source[4:]; len(source) >= 4; {
				value, rest, err := field(source[4:])
				if err != nil {
					return zero, err
				}
				r.values, source = append(r.values, value), rest
			}
			value := read(&r)
			if r.err != nil {
				return zero, fmt.Errorf("field %d: %w", r.next, r.err)
			}
			return value, nil
		},
		encode: func(out []byte, value T, known oids) ([]byte, error) {
			w := writer{out: binary.BigEndian.AppendUint32(out, uint32(len(parts))), form: binaryComposite, known: known}
			return compositeBy(w, write, value)
		},
		literal: func(out []byte, value T) ([]byte, error) {
			w := writer{out: append(out, '('), form: textComposite}
			out, err := compositeBy(w, write, value)
			return append(out, ')'), err
		},
	}
}
