import CPNG
import Foundation

/// The reason that no code can be read from a picture file.
enum PictureError: Error, Equatable {
    case unreadable(String)
    /// The picture is larger than the camera accepts.
    case tooLarge
    case notPNG
    case noCode
    /// The picture has several different codes, so the intended code is unclear.
    case severalCodes
}

/// A picture in shades of grey, a byte for each point, rows from the top.
struct Picture {
    let width: Int
    let height: Int
    let points: [UInt8]

    /// Reads a PNG file; transparent points count as white.
    init(pngFile path: String) throws {
        guard let file = FileHandle(forReadingAtPath: path) else { throw PictureError.unreadable(path) }
        defer { try? file.close() }
        let data = try file.read(upToCount: PhoneLimits.pictureBytes + 1) ?? Data()
        guard data.count <= PhoneLimits.pictureBytes else { throw PictureError.tooLarge }
        try self.init(png: Array(data))
    }

    /// Reads a PNG file's bytes.
    init(png bytes: [UInt8]) throws {
        guard Self.isPNG(bytes) else { throw PictureError.notPNG }
        var image = png_image()
        image.version = UInt32(PNG_IMAGE_VERSION)
        defer { png_image_free(&image) }
        let points: [UInt8] = try bytes.withUnsafeBytes { buffer in
            guard png_image_begin_read_from_memory(&image, buffer.baseAddress, buffer.count) != 0 else {
                throw PictureError.notPNG
            }
            let count = Int(image.width) * Int(image.height)
            guard count <= PhoneLimits.picturePoints else { throw PictureError.tooLarge }
            // One byte of grey for each point (PNG_FORMAT_GRAY).
            image.format = 0
            var white = png_color(red: 255, green: 255, blue: 255)
            var points = [UInt8](repeating: 255, count: count)
            guard png_image_finish_read(&image, &white, &points, 0, nil) != 0 else { throw PictureError.notPNG }
            return points
        }
        self.init(width: Int(image.width), height: Int(image.height), points: points)
    }

    init(width: Int, height: Int, points: [UInt8]) {
        self.width = width
        self.height = height
        self.points = points
    }

    /// Returns `true` if bytes begin as a PNG file does (PNG, section 5.2).
    static func isPNG(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
    }

    /// The same picture, with each point as a square of four points.
    var doubled: Picture {
        var points: [UInt8] = []
        points.reserveCapacity(self.points.count * 4)
        for row in 0..<self.height {
            let line = self.points[row * self.width..<(row + 1) * self.width].flatMap { [$0, $0] }
            points += line
            points += line
        }
        return Picture(width: self.width * 2, height: self.height * 2, points: points)
    }
}
