import Foundation
import Testing
import _Primitives

/// Vectors that a program without anything of ours has made: a JSON array of objects, bytes as hexadecimal digits.
enum VectorFile {
    /// The objects of `Vectors/NAME.json`.
    static func objects(_ name: String) throws -> [JSONObject] {
        let file = try #require(Bundle.module.url(forResource: "Vectors/\(name)", withExtension: "json"))
        guard case .array(let values) = try JSON(parsing: Array(try Data(contentsOf: file))) else { return [] }
        return values.compactMap { value in
            if case .object(let object) = value { object } else { nil }
        }
    }
}

extension JSONObject {
    /// Bytes that are written as hexadecimal digits.
    func hexadecimal(_ name: String) throws -> [UInt8] {
        let digits = Array(try self.requiredString(name))
        return try stride(from: 0, to: digits.count, by: 2).map {
            try #require(UInt8(String(digits[$0..<$0 + 2]), radix: 16))
        }
    }
}
