import CPNG
import Testing

/// Reads a PNG file with the PNG library's simple interface, as shades of grey.
func greyPicture(ofPNG file: [UInt8]) throws -> (pixels: [UInt8], width: Int) {
    var image = png_image()
    image.version = png_uint_32(PNG_IMAGE_VERSION)
    defer { png_image_free(&image) }
    try #require(png_image_begin_read_from_memory(&image, file, file.count) != 0)
    image.format = 0
    var pixels = [UInt8](repeating: 0, count: Int(image.width) * Int(image.height))
    let wasRead = pixels.withUnsafeMutableBytes { bytes in
        png_image_finish_read(&image, nil, bytes.baseAddress, 0, nil)
    }
    try #require(wasRead != 0)
    return (pixels, Int(image.width))
}
