import Foundation
import Testing
import _Primitives

@testable import PhoneCommand

@Suite("Threat model, Showing one thing and signing another: a picture in a terminal")
struct ShownPictureTests {
    /// PNG files with a white frame on black: of 80 by 64 points, of 80 by 63, and of 80 by 64 in 256 shades.
    private static let frame = """
        iVBORw0KGgoAAAANSUhEUgAAAFAAAABAAQAAAAClvM2bAAAAGklEQVR42mP4DwcMDQxQwDjKHGUOZiYi0QIA6wMzKyAL5AkA\
        AAAASUVORK5CYII=
        """
    private static let lower = """
        iVBORw0KGgoAAAANSUhEUgAAAFAAAAA/AQAAAABfyHKPAAAAGklEQVR42mP4DwcMDQxQwDjKHGUOOiYipQIAIKwyqmvIh1oA\
        AAAASUVORK5CYII=
        """
    private static let shades = """
        iVBORw0KGgoAAAANSUhEUgAAAFAAAABACAAAAACorK/qAAAANUlEQVR42u3YMQEAMAzDsIx5mXcUeuSUAQiAs+UyqfaAQCAQ\
        CAQCgUAgEAgEAoFA4BVs774PRFC+n0uABG8AAAAASUVORK5CYII=
        """

    private static func bytes(_ text: String) throws -> [UInt8] {
        Array(try #require(Data(base64Encoded: text)))
    }

    @Test("Every point of it is drawn, two to a letter, and its hash and size are told")
    func drawn() throws {
        let shown = try ShownPicture(png: try Self.bytes(Self.frame))
        let middle = "█" + String(repeating: " ", count: 78) + "█"
        #expect(
            shown.lines
                == ["█" + String(repeating: "▀", count: 78) + "█"] + [String](repeating: middle, count: 30)
                + ["█" + String(repeating: "▄", count: 78) + "█"])
        #expect(shown.json["width"] == .integer(80) && shown.json["height"] == .integer(64))
        #expect(shown.hash.utf8.count == 43)
    }

    @Test("What it could not draw truly is no picture for it: another size, shades, a damaged file, none")
    func refused() throws {
        let whole = try Self.bytes(Self.frame)
        for other in [try Self.bytes(Self.lower), try Self.bytes(Self.shades), Array(whole.dropLast()), [], [1, 2, 3]] {
            #expect(throws: PictureError.notPNG) { try ShownPicture(png: other) }
        }
    }
}
