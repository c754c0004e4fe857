import CZBar
import Ceremony
import Foundation
import Pages
import Testing
import _Primitives

/// Reads the QR codes of a grey picture with an independent reader.
func decodedQRCodes(grey pixels: [UInt8], width: Int, height: Int) -> [String] {
    let scanner = zbar_image_scanner_create()
    defer { zbar_image_scanner_destroy(scanner) }
    let image = zbar_image_create()
    defer { zbar_image_destroy(image) }
    let grey: UInt = 0x3030_3859  // the four letters "Y800"
    zbar_image_set_format(image, grey)
    zbar_image_set_size(image, UInt32(width), UInt32(height))
    var texts: [String] = []
    pixels.withUnsafeBytes { bytes in
        zbar_image_set_data(image, bytes.baseAddress, UInt(bytes.count), nil)
        zbar_scan_image(scanner, image)
        var symbol = zbar_image_first_symbol(image)
        while let found = symbol {
            let length = Int(zbar_symbol_get_data_length(found))
            if let data = zbar_symbol_get_data(found) {
                let letters = UnsafeRawBufferPointer(start: data, count: length)
                texts.append(String(decoding: letters, as: UTF8.self))
            }
            symbol = zbar_symbol_next(found)
        }
    }
    return texts
}

/// Draws the rectangles of the SVG picture, which is all that it has, `scale` pixels to a module.
func pixels(ofSVG svg: String, scale: Int) throws -> (pixels: [UInt8], side: Int) {
    let viewBox = try #require(svg.firstMatch(of: /viewBox="0 0 (\d+) (\d+)"/))
    let modules = try #require(Int(viewBox.1))
    #expect(viewBox.1 == viewBox.2)
    let side = modules * scale
    let svg = svg[..<(try #require(svg.firstRange(of: "</svg>"))).lowerBound]
    var pixels = [UInt8](repeating: 0xFF, count: side * side)
    for run in svg.matches(of: /M(\d+) (\d+)h(\d+)v1h-(\d+)z/) {
        let (column, row, width) = (try #require(Int(run.1)), try #require(Int(run.2)), try #require(Int(run.3)))
        for y in row * scale..<(row + 1) * scale {
            for x in column * scale..<(column + width) * scale { pixels[y * side + x] = 0 }
        }
    }
    return (pixels, side)
}

@Suite("ISO/IEC 18004: QR codes of links")
struct QRCodeTests {
    static let link =
        "https://id.example.com/open?dispatchTokenResponse="
        + String(repeating: "eyJubWFfZGF0YSI6eyJ0b2tlbiI6", count: 9)

    @Test(
        "The SVG picture is read back by an independent reader",
        arguments: [Self.link, "A", "https://localhost/ÄÖ€", String(repeating: "x", count: 1500)])
    func svgIsReadBack(text: String) throws {
        let drawn = try pixels(ofSVG: try QRCode(text: text).svg(label: "code"), scale: 4)
        #expect(decodedQRCodes(grey: drawn.pixels, width: drawn.side, height: drawn.side) == [text])
    }

    @Test func terminalPictureIsReadBack() throws {
        let lines = try QRCode(text: Self.link).terminalText.split(separator: "\n")
        let (columns, rows) = (lines[0].count, lines.count * 2)
        #expect(lines.allSatisfy { $0.count == columns })
        let scale = 4
        var pixels = [UInt8](repeating: 0, count: columns * rows * scale * scale)
        for (line, text) in lines.enumerated() {
            for (column, letter) in text.enumerated() {
                for half in 0...1 {
                    let light = half == 0 ? "█▀".contains(letter) : "█▄".contains(letter)
                    for y in 0..<scale where light {
                        let start = ((line * 2 + half) * scale + y) * columns * scale + column * scale
                        for pixel in start..<start + scale { pixels[pixel] = 0xFF }
                    }
                }
            }
        }
        #expect(decodedQRCodes(grey: pixels, width: columns * scale, height: rows * scale) == [Self.link])
    }

    @Test func pictureHasAQuietZoneOfFourModules() throws {
        let code = try QRCode(text: "A")
        let svg = code.svg(label: "code")
        #expect(code.width == 21)
        #expect(svg.contains("viewBox=\"0 0 29 29\""))
        let drawn = try pixels(ofSVG: svg, scale: 1)
        for row in 0..<29 {
            for column in 0..<29 where row < 4 || column < 4 || row > 24 || column > 24 {
                #expect(drawn.pixels[row * 29 + column] == 0xFF)
            }
        }
    }

    @Test func errorCorrectionIsLevelM() throws {
        // Level M holds 14 bytes in version 1 and 2,331 in version 40; the other levels hold other numbers.
        #expect(try QRCode(text: String(repeating: "x", count: 14)).width == 21)
        #expect(try QRCode(text: String(repeating: "x", count: 15)).width == 25)
        #expect(try QRCode(text: String(repeating: "x", count: 2331)).width == 177)
    }

    @Test func labelOfThePictureIsEscaped() throws {
        let svg = try QRCode(text: "A").svg(label: #"<b>&"quoted"'"#)
        #expect(svg.contains(#"aria-label="&lt;b&gt;&amp;&quot;quoted&quot;&#39;""#))
    }

    @Test func textThatDoesNotFitIsRefused() {
        #expect(throws: QRCodeError(.tooLong, "")) { try QRCode(text: String(repeating: "x", count: 2332)) }
        #expect(throws: QRCodeError(.empty, "")) { try QRCode(text: "") }
        #expect(throws: QRCodeError(.empty, "")) { try QRCode(text: "before\0after") }
    }

    @Test("A sign-in's code has at most 37 modules on each side for a host of up to 40 letters, and is read back")
    func signInCode() throws {
        let host = "authentication.lantern-street.example:84"
        #expect(host.utf8.count == 40)
        let address = try #require(URL(string: "https://\(host)/token/redeem/authentication"))
        let token = Base64URL.encode([UInt8](repeating: 0xA5, count: 32))
        let text = try #require(try OutOfBandPayload(redeemData: .init(token: token, redeemURL: address)).compact)
        let code = try QRCode(text: text)
        #expect(code.width <= 37)
        let drawn = try pixels(ofSVG: code.svg(label: "code"), scale: 3)
        #expect(decodedQRCodes(grey: drawn.pixels, width: drawn.side, height: drawn.side) == [text])
    }

    @Test func pngFileIsReadBack() throws {
        let code = try QRCode(text: Self.link)
        let picture = try greyPicture(ofPNG: try code.png(scale: 3))
        #expect(picture.width == (code.width + 8) * 3)
        #expect(
            decodedQRCodes(grey: picture.pixels, width: picture.width, height: picture.width) == [Self.link])
    }

    /// What a dispatch makes for whoever asks: a bit a pixel keeps file and cost small.
    @Test("A PNG file has a bit a pixel and is small", arguments: [1, 3, 8])
    func pngFileIsSmall(scale: Int) throws {
        let code = try QRCode(text: String(repeating: Self.link, count: 3).prefix(300).description)
        let file = try code.png(scale: scale)
        // Width, height, bit depth and colour type (palette) of the header chunk.
        let side = (code.width + 8) * scale
        let sides = [UInt8(0), 0, UInt8(side >> 8), UInt8(side & 255)]
        #expect(Array(file[16..<26]) == sides + sides + [1, 3])
        #expect(file.count < 4096, "\(file.count) bytes")
        let picture = try greyPicture(ofPNG: file)
        #expect(Set(picture.pixels) == [0, 255])
    }

    @Test("A PNG file of an unusable scale is refused", arguments: [0, -1, 65])
    func scaleOutOfRangeIsRefused(scale: Int) throws {
        let code = try QRCode(text: "A")
        #expect(throws: QRCodeError(.picture, "")) { try code.png(scale: scale) }
    }

    @Test func errorNeverHoldsTheText() {
        let error = #expect(throws: QRCodeError.self) { try QRCode(text: String(repeating: "secret", count: 500)) }
        #expect(error?.description == "QRCodeError.tooLong: 3000 bytes")
    }
}
