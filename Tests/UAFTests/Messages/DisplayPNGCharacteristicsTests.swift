import Testing
import UAF
import _Primitives

@Suite("uaf-sections §2.7 and §14: what a picture says of itself, and what a display shows")
struct DisplayPNGCharacteristicsTests {
    // Made by Python with zlib's checksums.
    private static let grey =
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
    private static let palette =
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABAQMAAADO7O3JAAAABlBMVEX_AAAAAP9sof2OAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
    private static let split =
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAA3RFWHRhAGLcSaI7AAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAALSURBVHicY2D4DwABAgEAQr68aAAAAAd0SU1FMTIzNDU2N8QcIs8AAAAASUVORK5CYII"
    private static let suggested =
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAABlBMVEX_AAAAAP9sof2OAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"

    private static func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text)) }
    private static func read(_ text: String) throws -> DisplayPNGCharacteristics {
        try DisplayPNGCharacteristics(ofPNG: try self.bytes(text))
    }

    @Test("Header and palette are read")
    func fields() throws {
        #expect(
            try Self.read(Self.grey) == DisplayPNGCharacteristics(width: 2, height: 1, bitDepth: 8, colorType: 0))
        let colors = [
            DisplayPNGCharacteristics.Color(red: 255, green: 0, blue: 0), .init(red: 0, green: 0, blue: 255),
        ]
        #expect(
            try Self.read(Self.palette)
                == DisplayPNGCharacteristics(width: 2, height: 1, bitDepth: 1, colorType: 3, palette: colors))
        #expect(try Self.read(Self.split) == Self.read(Self.grey))
        #expect(try Self.read(Self.suggested).palette == colors)
    }

    @Test(
        "A file that is not whole, or can be read another way, is refused",
        arguments: [
            ("no signature", "AAAADUlIRFIAAAACAAAAAQgAAAAA0UkgVgAAAAtJREFUeJxjYPgPAAECAQBCvrxoAAAAAElFTkSuQmCC"),
            (
                "a wrong signature",
                "iVBOWA0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "data first",
                "iVBORw0KGgoAAAALSURBVHicY2D4DwABAgEAQr68aAAAAA1JSERSAAAAAgAAAAEIAAAAANFJIFYAAAAASUVORK5CYII"
            ),
            (
                "two headers",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAADUlIRFIAAAACAAAAAQgAAAAA0UkgVgAAAAtJREFUeJxjYPgPAAECAQBCvrxoAAAAAElFTkSuQmCC"
            ),
            ("no picture data", "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAAElFTkSuQmCC"),
            ("no end", "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGg"),
            (
                "bytes after the end",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYIIA"
            ),
            (
                "an end with content",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAABSUVORHiPxLbv"
            ),
            (
                "a short header",
                "iVBORw0KGgoAAAAMSUhEUgAAAAAAAAAAAAAAACsP_lsAAAALSURBVHicY2D4DwABAgEAQr68aAAAAABJRU5ErkJggg"
            ),
            ("no width", "iVBORw0KGgoAAAANSUhEUgAAAAAAAAABCAAAAADVvPBrAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"),
            (
                "no height",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAAACAAAAAAaFfPzAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "an unknown depth",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABAwAAAACmmRFHAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "a depth that the color does not have",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABBAIAAAC-sAXcAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "an unknown color type",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAUAAADml9BkAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "an unknown compression",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAABAADQi0phAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "an unknown filter",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAQDIUhEXAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "an unknown interlace",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAAI_R0F6AAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "a palette of a grey picture",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAABlBMVEX_AAAAAP9sof2OAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "no palette where one is needed",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABAQMAAADO7O3JAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "two palettes",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABAQMAAADO7O3JAAAABlBMVEX_AAAAAP9sof2OAAAABlBMVEX_AAAAAP9sof2OAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "a palette after the data",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAGUExURf8AAAAA_2yh_Y4AAAAASUVORK5CYII"
            ),
            (
                "a palette of more colors than the depth",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABAQMAAADO7O3JAAAACVBMVEUAAAAAAAAAAACDY-nAAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "a palette of broken colors",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABAQMAAADO7O3JAAAABFBMVEUAAAAAtKOuegAAAAtJREFUeJxjYPgPAAECAQBCvrxoAAAAAElFTkSuQmCC"
            ),
            (
                "an empty palette",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABAQMAAADO7O3JAAAAAFBMVEVLqIlVAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "data in two places",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAHdElNRTEyMzQ1NjfEHCLPAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "an unknown critical chunk",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAAEFCQ0TbFyClAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
            ),
            (
                "an animation",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAACGFjVEwAAAAAAAAAAIlNwBAAAAALSURBVHicY2D4DwABAgEAQr68aAAAAABJRU5ErkJggg"
            ),
            (
                "a length that overruns",
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWf____0lEQVQAAAAAAAAAAAAAAABJRU5ErkJggg"
            ),
            ("nothing", ""),
        ])
    func refused(name: String, text: String) throws {
        #expect(throws: UAFError(.invalidValue), "\(name)") { try Self.read(text) }
    }

    @Test("A file with any one byte changed, or cut anywhere, is refused")
    func everyByte() throws {
        for text in [Self.grey, Self.palette, Self.split] {
            let original = try Self.bytes(text)
            for index in original.indices {
                var changed = original
                changed[index] ^= 1
                #expect(throws: UAFError(.invalidValue)) { try DisplayPNGCharacteristics(ofPNG: changed) }
                #expect(throws: UAFError(.invalidValue)) {
                    try DisplayPNGCharacteristics(ofPNG: Array(original[..<index]))
                }
            }
        }
    }

    @Test("More than 64 KiB are not read")
    func tooLong() throws {
        // The length alone refuses it: the same file one byte shorter is refused for its end.
        let long = try Self.bytes(Self.grey) + [UInt8](repeating: 0, count: 65_537)
        #expect { try DisplayPNGCharacteristics(ofPNG: long) } throws: { error in
            (error as? UAFError)?.reason == "PNG: signature"
        }
    }

    @Test("A display shows what equals it, and any palette where it has none of its own")
    func shows() throws {
        let display = DisplayPNGCharacteristics(width: 2, height: 1, bitDepth: 1, colorType: 3)
        let picture = try Self.read(Self.palette)
        #expect(display.shows(picture) && picture.shows(picture))
        #expect(!picture.shows(display))
        let changes: [(inout DisplayPNGCharacteristics) -> Void] = [
            { $0.width = 3 }, { $0.height = 3 }, { $0.bitDepth = 2 }, { $0.colorType = 0 }, { $0.compression = 1 },
            { $0.filter = 1 }, { $0.interlace = 1 },
        ]
        for change in changes {
            var other = display
            change(&other)
            #expect(!other.shows(picture))
        }
        var otherPalette = picture
        otherPalette.palette?[0].red = 254
        #expect(!otherPalette.shows(picture))
    }

    @Test("A transaction and a registration's assertion carry characteristics, and survive writing and reading")
    func onTheWire() throws {
        let characteristics = try Self.read(Self.palette)
        let transaction = Transaction(
            contentType: .imagePNG, content: try Self.bytes(Self.palette), pngCharacteristics: characteristics)
        #expect(try Transaction(json: transaction.json) == transaction)
        let response = RegistrationResponse(
            header: OperationHeader(operation: .registration), fcParams: "e30",
            assertions: [EncodedAssertion(bytes: [1], pngCharacteristics: [characteristics])])
        #expect(try RegistrationResponse(parsing: response.serialized) == response)
    }

    @Test(
        "Broken characteristics are refused",
        arguments: [
            (#"{"width":1}"#, UAFError.Code.missingMember),
            (
                #"{"width":-1,"height":1,"bitDepth":8,"colorType":0,"compression":0,"filter":0,"interlace":0}"#,
                .wrongType
            ),
            (
                #"{"width":1,"height":1,"bitDepth":256,"colorType":0,"compression":0,"filter":0,"interlace":0}"#,
                .wrongType
            ),
            (
                #"{"width":1,"height":1,"bitDepth":8,"colorType":0,"compression":0,"filter":0,"interlace":0,"plte":[]}"#,
                .outOfRange
            ),
            (
                #"{"width":1,"height":1,"bitDepth":8,"colorType":0,"compression":0,"filter":0,"interlace":0,"plte":[{"r":1}]}"#,
                .missingMember
            ),
        ])
    func broken(text: String, code: UAFError.Code) throws {
        guard case .object(let characteristics) = try JSON(parsing: text.utf8) else {
            throw JSONError(.wrongType, text)
        }
        let object: JSONObject = [
            "contentType": .string("image/png"), "content": .string("AA"),
            "tcDisplayPNGCharacteristics": .object(characteristics),
        ]
        #expect(throws: UAFError(code)) { try Transaction(json: object) }
    }
}
