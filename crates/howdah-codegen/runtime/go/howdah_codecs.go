// This file reads and writes the values of built-in types: their binary form, and their literals.

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"time"
	"unicode/utf8"
)

// pgType is a type of the server.
type pgType struct {
	// oid is 0 for types that have another one in each database.
	oid          uint32
	schema, name string
	// array stands for the array of that name.
	array bool
	// text is set for types that have no binary form here.
	text  bool
	parts []*pgType
}

func (t *pgType) format() int16 {
	if t.text {
		return 0
	}
	return 1
}

// oids are the types of a database that values name in their binary form.
type oids map[*pgType]uint32

func (o oids) of(t *pgType) uint32 {
	if t.oid != 0 {
		return t.oid
	}
	return o[t]
}

// codec reads and writes the values of a type.
type codec[T any] struct {
	typ *pgType
	// decode reads the binary form, or the text of a type that has none. It keeps nothing of its source.
	decode func(source []byte) (T, error)
	// encode appends the binary form.
	encode func(out []byte, value T, known oids) ([]byte, error)
	// literal appends the text.
	literal func(out []byte, value T) ([]byte, error)
}

var (
	boolCodec        = &codec[bool]{builtin(16), decodeBool, encodeBool, literalBool}
	int2Codec        = &codec[int16]{builtin(21), decodeInt2, encodeInt2, literalInt[int16]}
	int4Codec        = &codec[int32]{builtin(23), decodeInt4, encodeInt4, literalInt[int32]}
	int8Codec        = &codec[int64]{builtin(20), decodeInt8, encodeInt8, literalInt[int64]}
	oidCodec         = &codec[uint32]{builtin(26), decodeOid, encodeOid, literalInt[uint32]}
	float4Codec      = &codec[float32]{builtin(700), decodeFloat4, encodeFloat4, literalFloat4}
	float8Codec      = &codec[float64]{builtin(701), decodeFloat8, encodeFloat8, literalFloat8}
	numericCodec     = &codec[Numeric]{builtin(1700), decodeNumeric, encodeNumeric, literalNumeric}
	textCodec        = textOf[string](25)
	varcharCodec     = textOf[string](1043)
	bpcharCodec      = textOf[string](1042)
	nameCodec        = textOf[string](19)
	jsonCodec        = textOf[json.RawMessage](114)
	jsonbCodec       = &codec[json.RawMessage]{builtin(3802), decodeJsonb, encodeJsonb, literalText[json.RawMessage]}
	byteaCodec       = &codec[[]byte]{builtin(17), decodeBytea, encodeBytea, literalBytea}
	uuidCodec        = &codec[UUID]{builtin(2950), decodeUUID, encodeUUID, literalUUID}
	dateCodec        = &codec[time.Time]{builtin(1082), decodeDate, encodeDate, literalDate}
	timeCodec        = &codec[time.Duration]{builtin(1083), decodeTime, encodeTime, literalTime}
	timetzCodec      = &codec[TimeTZ]{builtin(1266), decodeTimeTZ, encodeTimeTZ, literalTimeTZ}
	timestampCodec   = &codec[time.Time]{builtin(1114), decodeTimestamp, encodeTimestamp, literalTimestamp}
	timestamptzCodec = &codec[time.Time]{builtin(1184), decodeTimestamp, encodeTimestamptz, literalTimestamptz}
	intervalCodec    = &codec[Interval]{builtin(1186), decodeInterval, encodeInterval, literalInterval}
	inetCodec        = &codec[netip.Prefix]{builtin(869), decodeInet, encodeInet, literalInet}
	cidrCodec        = &codec[netip.Prefix]{builtin(650), decodeInet, encodeCidr, literalCidr}
	literalCodec     = &codec[string]{&pgType{text: true}, decodeText[string], encodeText[string], literalText[string]}
)

func builtin(oid uint32) *pgType {
	return &pgType{oid: oid}
}

func textOf[T ~string | ~[]byte](oid uint32) *codec[T] {
	return &codec[T]{builtin(oid), decodeText[T], encodeText[T], literalText[T]}
}

// enumOf makes the codec of an enum.
func enumOf[T interface {
	~string
	Valid() bool
}](schema, name string) *codec[T] {
	checked := func(label T, err error) (T, error) {
		if err == nil && !label.Valid() {
			err = fmt.Errorf("%q is no label of %s", string(label), name)
		}
		return label, err
	}
	return &codec[T]{
		&pgType{schema: schema, name: name},
		func(source []byte) (T, error) { return checked(decodeText[T](source)) },
		func(out []byte, label T, known oids) ([]byte, error) {
			if _, err := checked(label, nil); err != nil {
				return out, err
			}
			return encodeText(out, label, known)
		},
		func(out []byte, label T) ([]byte, error) {
			if _, err := checked(label, nil); err != nil {
				return out, err
			}
			return literalText(out, label)
		},
	}
}

// domainOf makes the codec of a domain, which has an OID of its own.
func domainOf[T any](base *codec[T], schema, name string) *codec[T] {
	made := *base
	made.typ = &pgType{schema: schema, name: name, text: base.typ.text, parts: base.typ.parts}
	return &made
}

// mapped makes the codec of a type of the user's, which stands for another.
func mapped[A, B any](base *codec[A], maker func(A) B, taker func(B) A) *codec[B] {
	return &codec[B]{
		base.typ,
		func(source []byte) (made B, err error) {
			value, err := base.decode(source)
			if err == nil {
				made = maker(value)
			}
			return made, err
		},
		func(out []byte, value B, known oids) ([]byte, error) {
			return base.encode(out, taker(value), known)
		},
		func(out []byte, value B) ([]byte, error) {
			return base.literal(out, taker(value))
		},
	}
}

// sized tells what has not the length of its type.
func sized(source []byte, length int) error {
	if len(source) != length {
		return fmt.Errorf("%d bytes and not %d", len(source), length)
	}
	return nil
}

func decodeBool(source []byte) (bool, error) {
	if err := sized(source, 1); err != nil {
		return false, err
	}
	return source[0] != 0, nil
}

func encodeBool(out []byte, value bool, _ oids) ([]byte, error) {
	if value {
		return append(out, 1), nil
	}
	return append(out, 0), nil
}

func literalBool(out []byte, value bool) ([]byte, error) {
	return strconv.AppendBool(out, value), nil
}

func decodeInt2(source []byte) (int16, error) {
	if err := sized(source, 2); err != nil {
		return 0, err
	}
	return int16(binary.BigEndian.Uint16(source)), nil
}

func encodeInt2(out []byte, value int16, _ oids) ([]byte, error) {
	return binary.BigEndian.AppendUint16(out, uint16(value)), nil
}

func decodeInt4(source []byte) (int32, error) {
	if err := sized(source, 4); err != nil {
		return 0, err
	}
	return int32(binary.BigEndian.Uint32(source)), nil
}

func encodeInt4(out []byte, value int32, _ oids) ([]byte, error) {
	return binary.BigEndian.AppendUint32(out, uint32(value)), nil
}

func decodeInt8(source []byte) (int64, error) {
	if err := sized(source, 8); err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(source)), nil
}

func encodeInt8(out []byte, value int64, _ oids) ([]byte, error) {
	return binary.BigEndian.AppendUint64(out, uint64(value)), nil
}

func decodeOid(source []byte) (uint32, error) {
	if err := sized(source, 4); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(source), nil
}

func encodeOid(out []byte, value uint32, _ oids) ([]byte, error) {
	return binary.BigEndian.AppendUint32(out, value), nil
}

func literalInt[T int16 | int32 | int64 | uint32](out []byte, value T) ([]byte, error) {
	return strconv.AppendInt(out, int64(value), 10), nil
}

func decodeFloat4(source []byte) (float32, error) {
	bits, err := decodeOid(source)
	return math.Float32frombits(bits), err
}

func encodeFloat4(out []byte, value float32, _ oids) ([]byte, error) {
	return binary.BigEndian.AppendUint32(out, math.Float32bits(value)), nil
}

func literalFloat4(out []byte, value float32) ([]byte, error) {
	return strconv.AppendFloat(out, float64(value), 'g', -1, 32), nil
}

func decodeFloat8(source []byte) (float64, error) {
	if err := sized(source, 8); err != nil {
		return 0, err
	}
	return math.Float64frombits(binary.BigEndian.Uint64(source)), nil
}

func encodeFloat8(out []byte, value float64, _ oids) ([]byte, error) {
	return binary.BigEndian.AppendUint64(out, math.Float64bits(value)), nil
}

func literalFloat8(out []byte, value float64) ([]byte, error) {
	return strconv.AppendFloat(out, value, 'g', -1, 64), nil
}

func decodeText[T ~string | ~[]byte](source []byte) (T, error) {
	return T(bytes.Clone(source)), nil
}

func encodeText[T ~string | ~[]byte](out []byte, value T, _ oids) ([]byte, error) {
	return literalText(out, value)
}

func literalText[T ~string | ~[]byte](out []byte, value T) ([]byte, error) {
	before := len(out)
	out = append(out, value...)
	if !utf8.Valid(out[before:]) {
		return out[:before], errors.New("a text that is not UTF-8")
	}
	if bytes.IndexByte(out[before:], 0) >= 0 {
		return out[:before], errors.New("a text with the character 0")
	}
	return out, nil
}

func decodeJsonb(source []byte) (json.RawMessage, error) {
	if len(source) == 0 || source[0] != 1 {
		return nil, errors.New("a version of jsonb that is not known")
	}
	return decodeText[json.RawMessage](source[1:])
}

func encodeJsonb(out []byte, value json.RawMessage, _ oids) ([]byte, error) {
	return literalText(append(out, 1), value)
}

func decodeBytea(source []byte) ([]byte, error) {
	return append([]byte{}, source...), nil
}

func encodeBytea(out []byte, value []byte, _ oids) ([]byte, error) {
	return append(out, value...), nil
}

func literalBytea(out []byte, value []byte) ([]byte, error) {
	return hex.AppendEncode(append(out, `\x`...), value), nil
}

func decodeUUID(source []byte) (UUID, error) {
	if err := sized(source, 16); err != nil {
		return UUID{}, err
	}
	return UUID(source), nil
}

func encodeUUID(out []byte, value UUID, _ oids) ([]byte, error) {
	return append(out, value[:]...), nil
}

func literalUUID(out []byte, value UUID) ([]byte, error) {
	return append(out, value.String()...), nil
}

func decodeInet(source []byte) (netip.Prefix, error) {
	if len(source) < 4 || (len(source) != 8 && len(source) != 20) {
		return netip.Prefix{}, fmt.Errorf("an address of %d bytes", len(source))
	}
	address, _ := netip.AddrFromSlice(source[4:])
	return netip.PrefixFrom(address, int(source[1])), nil
}

func encodeInet(out []byte, value netip.Prefix, _ oids) ([]byte, error) {
	return appendAddress(out, value, 0)
}

func encodeCidr(out []byte, value netip.Prefix, _ oids) ([]byte, error) {
	if value.IsValid() && value != value.Masked() {
		return out, fmt.Errorf("%v is no network: it has bits behind its length", value)
	}
	return appendAddress(out, value, 1)
}

func appendAddress(out []byte, value netip.Prefix, network byte) ([]byte, error) {
	if !value.IsValid() {
		return out, errors.New("an address that is not set")
	}
	family := byte(2)
	if value.Addr().Is6() {
		family = 3
	}
	address := value.Addr().AsSlice()
	return append(append(out, family, byte(value.Bits()), network, byte(len(address))), address...), nil
}

func literalInet(out []byte, value netip.Prefix) ([]byte, error) {
	if _, err := encodeInet(nil, value, nil); err != nil {
		return out, err
	}
	return value.AppendTo(out), nil
}

func literalCidr(out []byte, value netip.Prefix) ([]byte, error) {
	if _, err := encodeCidr(nil, value, nil); err != nil {
		return out, err
	}
	return value.AppendTo(out), nil
}
