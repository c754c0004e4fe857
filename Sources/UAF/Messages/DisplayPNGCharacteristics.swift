public import _Primitives

/// The kind of picture that a display shows, or the kind of a picture (DisplayPNGCharacteristicsDescriptor, §2.7): the
/// fields of a PNG's IHDR, and its palette.
public struct DisplayPNGCharacteristics: Hashable, Sendable {
    /// A color of a palette (rgbPaletteEntry).
    public struct Color: Hashable, Sendable {
        /// `r`, `g`, `b`
        public var red, green, blue: UInt16

        /// Creates a color from its three components.
        public init(red: UInt16, green: UInt16, blue: UInt16) {
            self.red = red
            self.green = green
            self.blue = blue
        }
    }

    /// `width`, in pixels.
    public var width: UInt32
    /// `height`, in pixels.
    public var height: UInt32
    /// `bitDepth`
    public var bitDepth: UInt8
    /// `colorType`: 0 grey, 2 color, 3 palette, 4 grey with alpha, 6 color with alpha.
    public var colorType: UInt8
    /// `compression`
    public var compression: UInt8
    /// `filter`
    public var filter: UInt8
    /// `interlace`
    public var interlace: UInt8
    /// `plte`: 1 to 256 colors; `nil` if any palette, or none, is acceptable.
    public var palette: [Color]?

    /// Creates characteristics from the fields.
    public init(
        width: UInt32, height: UInt32, bitDepth: UInt8, colorType: UInt8, compression: UInt8 = 0, filter: UInt8 = 0,
        interlace: UInt8 = 0, palette: [Color]? = nil
    ) {
        self.width = width
        self.height = height
        self.bitDepth = bitDepth
        self.colorType = colorType
        self.compression = compression
        self.filter = filter
        self.interlace = interlace
        self.palette = palette
    }

    /// Reads the dictionary alone, as stored by a server.
    public init(json object: JSONObject) throws(UAFError) { try self.init(MemberReader(object, "display")) }

    init(_ members: MemberReader) throws(UAFError) {
        self.width = try members.requiredInteger("width")
        self.height = try members.requiredInteger("height")
        self.bitDepth = try members.requiredInteger("bitDepth")
        self.colorType = try members.requiredInteger("colorType")
        self.compression = try members.requiredInteger("compression")
        self.filter = try members.requiredInteger("filter")
        self.interlace = try members.requiredInteger("interlace")
        self.palette = try members.list("plte") { (entry) throws(UAFError) in
            Color(
                red: try entry.requiredInteger("r"), green: try entry.requiredInteger("g"),
                blue: try entry.requiredInteger("b"))
        }
        guard self.palette.map({ $0.count <= 256 }) ?? true else { throw UAFError(.outOfRange, "plte") }
    }

    /// The dictionary of the characteristics.
    public var json: JSON {
        var object: JSONObject = [
            "width": .whole(self.width), "height": .whole(self.height), "bitDepth": .whole(self.bitDepth),
            "colorType": .whole(self.colorType), "compression": .whole(self.compression),
            "filter": .whole(self.filter), "interlace": .whole(self.interlace),
        ]
        object["plte"] = self.palette.map { colors in
            .array(
                colors.map { ["r": .whole($0.red), "g": .whole($0.green), "b": .whole($0.blue)] as JSONObject }
                    .map { .object($0) })
        }
        return .object(object)
    }

    /// Returns `true` if a display with these characteristics shows the picture: all fields are equal, and the palettes
    /// are equal if the display has one.
    public func shows(_ picture: Self) -> Bool {
        var expected = picture
        if self.palette == nil { expected.palette = nil }
        return self == expected
    }
}

extension DisplayPNGCharacteristics {
    /// Reads the characteristics of a PNG file (ISO/IEC 15948) of at most 64 KiB, without decoding the picture.
    ///
    /// The file must be complete, and must have a single interpretation. Chunks have right checksums, IHDR is first,
    /// the picture data is one piece, and nothing follows IEND. A palette occurs at most once, and only if the color
    /// type allows a palette. Other critical chunks and animations are refused. Throws ``UAFError/Code/invalidValue``.
    public init(ofPNG bytes: [UInt8]) throws(UAFError) {
        var reader = PNGReader(bytes)
        try reader.readSignature()
        let header = try reader.readChunk()
        guard header.name == "IHDR", header.content.count == 13 else { throw PNGReader.refusal("no IHDR") }
        let fields = Array(header.content)
        self.init(
            width: PNGReader.number(fields[0..<4]), height: PNGReader.number(fields[4..<8]), bitDepth: fields[8],
            colorType: fields[9], compression: fields[10], filter: fields[11], interlace: fields[12])
        let depths: [UInt8: Set<UInt8>] = [
            0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16],
        ]
        guard self.width > 0, self.height > 0, depths[self.colorType]?.contains(self.bitDepth) == true,
            self.compression == 0, self.filter == 0, self.interlace <= 1
        else { throw PNGReader.refusal("IHDR") }
        try self.readRest(&reader)
    }

    private mutating func readRest(_ reader: inout PNGReader) throws(UAFError) {
        var hasData = false
        var isAfterData = false
        while true {
            let chunk = try reader.readChunk()
            switch chunk.name {
            case "PLTE":
                guard self.palette == nil, !hasData, self.colorType != 0, self.colorType != 4 else {
                    throw PNGReader.refusal("a palette that must not be")
                }
                let colors = chunk.content.count / 3
                guard chunk.content.count.isMultiple(of: 3), (1...256).contains(colors),
                    self.colorType != 3 || colors <= 1 << Int(self.bitDepth)
                else { throw PNGReader.refusal("a palette of a wrong size") }
                let values = chunk.content.map { UInt16($0) }
                self.palette = (0..<colors).map {
                    Color(red: values[3 * $0], green: values[3 * $0 + 1], blue: values[3 * $0 + 2])
                }
            case "IDAT":
                guard !isAfterData, self.colorType != 3 || self.palette != nil else {
                    throw PNGReader.refusal("picture data out of place")
                }
                hasData = true
                continue
            case "IEND":
                guard hasData, chunk.content.isEmpty, reader.isAtEnd else { throw PNGReader.refusal("the end") }
                return
            case "acTL", "fcTL", "fdAT": throw PNGReader.refusal("an animation")
            default:
                // A chunk whose first letter is in upper case is critical: a reader that does not know the chunk cannot
                // show the picture.
                guard chunk.name.utf8.first.map({ $0 & 0x20 != 0 }) == true else {
                    throw PNGReader.refusal("an unknown critical chunk")
                }
            }
            isAfterData = hasData
        }
    }
}

/// Splits a PNG file into its chunks.
private struct PNGReader {
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    private static let maximumLength = 65_536

    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.rest = bytes[...] }

    static func refusal(_ reason: String) -> UAFError { UAFError(.invalidValue, "PNG: \(reason)") }
    static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }

    var isAtEnd: Bool { self.rest.isEmpty }

    mutating func readSignature() throws(UAFError) {
        guard self.rest.count <= Self.maximumLength, self.rest.starts(with: Self.signature) else {
            throw Self.refusal("signature")
        }
        self.rest = self.rest.dropFirst(Self.signature.count)
    }

    mutating func readChunk() throws(UAFError) -> (name: String, content: ArraySlice<UInt8>) {
        guard self.rest.count >= 12 else { throw Self.refusal("truncated") }
        let start = self.rest.startIndex
        let length = Int(Self.number(self.rest[start..<start + 4]))
        guard length <= self.rest.count - 12 else { throw Self.refusal("truncated") }
        let covered = self.rest[start + 4..<start + 8 + length]
        let name = covered.prefix(4)
        guard name.allSatisfy({ (0x41...0x5A).contains($0 & 0xDF) }),
            Self.number(self.rest[start + 8 + length..<start + 12 + length]) == Self.checksum(covered)
        else { throw Self.refusal("a chunk") }
        self.rest = self.rest[(start + 12 + length)...]
        return (String(decoding: name, as: UTF8.self), covered.dropFirst(4))
    }

    /// Computes the CRC-32 (ISO 3309).
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        ~bytes.reduce(UInt32.max) { crc, byte in
            (0..<8).reduce(crc ^ UInt32(byte)) { value, _ in value >> 1 ^ (value & 1 == 0 ? 0 : 0xEDB8_8320) }
        }
    }
}
