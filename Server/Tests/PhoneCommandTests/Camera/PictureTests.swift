import Foundation
import Testing

@testable import PhoneCommand

@Suite("The phone's camera reads QR codes from pictures")
struct PictureTests {
    /// Made with `qrencode -t PNG -s 2 -m 4`.
    private static let link = """
        iVBORw0KGgoAAAANSUhEUgAAAEoAAABKAQMAAAAmHlAyAAAABlBMVEUAAAD///+l2Z/dAAAAAnRSTlP//8i138cAAAAJcEhZcwAA\
        CxIAAAsSAdLdfvwAAADISURBVCiRtdIxqkQhDAXQQNqAWwmkDWTrgq3gVoS0QkZm+O8/89oZqwPK5ZIIcR34LgG9AIOdNJdaJBJZ\
        QkXwQeTmTw4nyTQnKh6JgCLy1+FiRP3vexGYcFBPHMON2exkmT5tZ53EZcJEiYTYerRE7+EA77AbeVr38n5wY+/IqiuxNKj0CbsR\
        l09tYie1+WoicXKXXqGaqM5tANvJCCpmkAhY6l5NnDQfeyaauC9hhz2oQ6JZptTJECfNQe0z1BsBrdLwxN/86hcJkOYuuh3jwwAA\
        AABJRU5ErkJggg==\

        """
    private static let other = """
        iVBORw0KGgoAAAANSUhEUgAAADoAAAA6AQMAAADbddhrAAAABlBMVEUAAAD///+l2Z/dAAAAAnRSTlP//8i138cAAAAJcEhZcwAA\
        CxIAAAsSAdLdfvwAAACGSURBVCiRrdHNBgQxDAfwkGvpq4Reh/+rh16HvkrJdciMla1m97hbwo9qvkoeh34FsQphB+w0T5A2jD9A\
        X5CWAbPmCcTtXSvgroh+AlUHakI5OmvCnMeYCeXqQ7GjGfz1fOEJAXYQM6bvgAlzgrROsYQFq3G14CrYgWfiyBMgLteZ8J8fvAH3\
        CEdwfaoz4wAAAABJRU5ErkJggg==\

        """

    private func picture(_ base64: String) throws -> Picture {
        try Picture(png: Array(try #require(Data(base64Encoded: base64))))
    }

    /// A white page with pictures on it, at the given places.
    private func page(_ pictures: [(Picture, x: Int, y: Int)], width: Int = 900, height: Int = 600) -> Picture {
        var points = [UInt8](repeating: 255, count: width * height)
        for (picture, x, y) in pictures {
            for row in 0..<picture.height {
                let line = picture.points[row * picture.width..<(row + 1) * picture.width]
                points.replaceSubrange((y + row) * width + x..<(y + row) * width + x + picture.width, with: line)
            }
        }
        return Picture(width: width, height: height, points: points)
    }

    @Test("A code that fills the picture is read")
    func wholePicture() throws {
        #expect(try self.picture(Self.link).qrCodeText() == "https://id.example/open?dispatchTokenResponse=YQ")
    }

    @Test("A small code somewhere on a page is read")
    func screenshot() throws {
        let page = try self.page([(self.picture(Self.link), x: 610, y: 333)])
        #expect(try page.qrCodeText() == "https://id.example/open?dispatchTokenResponse=YQ")
    }

    @Test("The same code twice is one code; two different ones are refused")
    func severalCodes() throws {
        let link = try self.picture(Self.link)
        let twice = self.page([(link, x: 20, y: 20), (link, x: 500, y: 300)])
        #expect(try twice.qrCodeText() == "https://id.example/open?dispatchTokenResponse=YQ")
        let two = try self.page([(link, x: 20, y: 20), (self.picture(Self.other), x: 500, y: 300)])
        #expect(throws: PictureError.severalCodes) { try two.qrCodeText() }
    }

    @Test("A page without a code is refused")
    func noCode() {
        #expect(throws: PictureError.noCode) { try self.page([]).qrCodeText() }
    }

    @Test("What is no PNG, or half of one, is refused")
    func noPicture() throws {
        let bytes = Array(try #require(Data(base64Encoded: Self.link)))
        #expect(throws: PictureError.notPNG) { try Picture(png: []) }
        #expect(throws: PictureError.notPNG) { try Picture(png: Array("GIF89a".utf8)) }
        #expect(throws: PictureError.notPNG) { try Picture(png: Array(bytes.prefix(bytes.count / 2))) }
        #expect(throws: PictureError.unreadable("/nowhere.png")) { try Picture(pngFile: "/nowhere.png") }
    }

    @Test("A picture of more points than the camera looks at is refused before it is unpacked")
    func tooLarge() throws {
        var bytes = Array(try #require(Data(base64Encoded: Self.link)))
        // The width and height of the header chunk (PNG, section 11.2.1), and its checksum over 17 bytes.
        bytes.replaceSubrange(16..<24, with: [0, 0, 0x40, 0, 0, 0, 0x40, 0])
        bytes.replaceSubrange(29..<33, with: Self.checksum(bytes[12..<29]))
        #expect(throws: PictureError.tooLarge) { try Picture(png: bytes) }
    }

    /// PNG, annex D.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var value: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            value ^= UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
        }
        return withUnsafeBytes(of: (~value).bigEndian) { Array($0) }
    }
}
