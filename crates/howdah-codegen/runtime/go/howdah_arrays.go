// This file reads and writes arrays.

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
	count := 1
	for ; depth > 0; depth-- {
		length, lower := binary.BigEndian.Uint32(source), binary.BigEndian.Uint32(source[4:])
		value.Dims = append(value.Dims, Dimension{int32(length), int32(lower)})
		source = source[8:]
		// Each element has its length before it: a count that does not fit costs no memory.
		count = min(count*int(length), len(source)/4)
	}
	if len(source) == 0 {
		count = 0
	}
	value.Elements = make([]*T, 0, count)
	items := make([]T, 0, count)
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
		items = append(items, item)
		value.Elements = append(value.Elements, &items[len(items)-1])
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
