import Countersign
import UAF
import _Primitives

/// A picture that is to be confirmed, as a terminal can show it: each point black or white, so that no point is shown as
/// anything but what it is.
struct ShownPicture {
    /// The one kind of picture that this phone shows. Eighty columns are what every terminal has, and two points fit into
    /// one letter's height.
    static let display = PictureDisplay(width: 80, height: 64, bitDepth: 1, colorType: 0)

    /// The points, from black to white.
    let picture: Picture
    /// SHA-256 of the file: what is signed.
    let hash: String

    /// Throws ``PictureError`` for what is no picture of the kind that is shown here.
    init(png bytes: [UInt8]) throws {
        guard let kind = try? PictureDisplay(ofPNG: bytes), Self.display.shows(kind) else { throw PictureError.notPNG }
        self.picture = try Picture(png: bytes)
        self.hash = Base64URL.encode(UAF.Transaction(contentType: .imagePNG, content: bytes).contentHash)
    }

    /// What scripts are told of it.
    var json: JSONObject {
        [
            "width": .integer(Int64(self.picture.width)), "height": .integer(Int64(self.picture.height)),
            "sha256": .string(self.hash),
        ]
    }

    /// The picture in letters, two points to a letter, for a dark terminal: what is white is drawn.
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
