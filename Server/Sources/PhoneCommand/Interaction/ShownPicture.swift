import Countersign
import UAF
import _Primitives

/// A picture to be confirmed, in a form for terminals. Each point is black or white, so that no point appears as
/// anything else.
struct ShownPicture {
    /// The only kind of picture that this phone shows. Every terminal has eighty columns, and two points fit into the
    /// height of one letter.
    static let display = PictureDisplay(width: 80, height: 64, bitDepth: 1, colorType: 0)

    /// The points, from black to white.
    let picture: Picture
    /// The SHA-256 of the file, which is signed.
    let hash: String

    /// Reads a picture. Throws ``PictureError`` for bytes that are no picture of the supported kind.
    init(png bytes: [UInt8]) throws {
        guard let kind = try? PictureDisplay(ofPNG: bytes), Self.display.shows(kind) else { throw PictureError.notPNG }
        self.picture = try Picture(png: bytes)
        self.hash = Base64URL.encode(UAF.Transaction(contentType: .imagePNG, content: bytes).contentHash)
    }

    /// The description of the picture for scripts.
    var json: JSONObject {
        [
            "width": .integer(Int64(self.picture.width)), "height": .integer(Int64(self.picture.height)),
            "sha256": .string(self.hash),
        ]
    }

    /// The picture in letters, two points to a letter, for a dark terminal: white points are drawn.
    var lines: [String] {
        func isLight(_ column: Int, _ row: Int) -> Bool {
            row < self.picture.height && self.picture.points[row * self.picture.width + column] > 127
        }
        return stride(from: 0, to: self.picture.height, by: 2).map { row in
            (0..<self.picture.width).map { column in
                switch (isLight(column, row), isLight(column, row + 1)) {
                case (true, true): "█"
                case (true, false): "▀"
                case (false, true): "▄"
                case (false, false): " "
                }
            }.joined()
        }
    }
}
