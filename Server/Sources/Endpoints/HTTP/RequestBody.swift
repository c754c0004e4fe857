import HTTPTypes
package import Hummingbird
package import NIOCore
import OAuth
package import _Primitives

/// The media types of request bodies.
package enum BodyType: String, Sendable {
    case json = "application/json"
    case form = "application/x-www-form-urlencoded"
    case uaf = "application/fido+uaf"

    /// The value of `Content-Type` in answers of this type.
    package var headerValue: String { self == .uaf ? "application/fido+uaf;charset=UTF-8" : self.rawValue }
}

/// The error of a listener for a request whose body did not arrive completely in time.
public struct RequestTooSlow: Error {
    /// Creates the error.
    public init() {}
}

extension Request {
    /// Returns the body's bytes, at most `limit` bytes, of one of the media types.
    ///
    /// - Parameter orNone: `true` if the body may be absent. An absent body has no type.
    ///
    /// Throws a ``Problem``: 415 for another type or charset, 413 for more bytes, 408 for a body that comes too slowly,
    /// 400 for a body that breaks the rules of HTTP or is incomplete.
    package func body(of types: [BodyType], limit: Int, orNone: Bool = false) async throws -> ByteBuffer {
        let accepted = types.map(\.rawValue).joined(separator: ", ")
        let otherType = Problem(
            .unsupportedMediaType, "unsupported-media-type", "This address takes \(accepted) in UTF-8.",
            headers: [.accept: accepted])
        guard let contentType = self.headers[.contentType] else {
            guard orNone else { throw otherType }
            let bytes = try await self.collected(limit)
            guard bytes.readableBytes == 0 else { throw otherType }
            return bytes
        }
        guard let type = MediaTypeHeader(contentType), types.map(\.rawValue).containsBytes(of: type.essence),
            type.isUTF8
        else { throw otherType }
        return try await self.collected(limit)
    }

    private func collected(_ limit: Int) async throws -> ByteBuffer {
        let tooLarge = Problem(.contentTooLarge, "content-too-large", "This address takes at most \(limit) bytes.")
        if let length = self.headers[.contentLength].flatMap(Int.init), length > limit { throw tooLarge }
        do {
            return try await self.body.collect(upTo: limit)
        } catch is NIOTooManyBytesError {
            throw tooLarge
        } catch is RequestTooSlow {
            throw Problem(
                .requestTimeout, "request-timeout", "The body did not come in time.", headers: [.connection: "close"])
        } catch {
            // Whatever error the transport reports, the other end has caused the error: malformed chunks, an early end.
            throw Problem(.badRequest, "malformed-body", "The body did not come whole.")
        }
    }

    /// Returns the body as one JSON object, read strictly. Throws a ``Problem`` as ``body(of:limit:)``, and
    /// `JSONError`, which is answered 400.
    ///
    /// - Parameter leavesOutNull: `true` if a member that is null counts as absent.
    package func jsonObject(limit: Int, types: [BodyType] = [.json], leavesOutNull: Bool = false) async throws
        -> JSONObject
    {
        let bytes = try await self.body(of: types, limit: limit)
        let value = try JSON(
            parsing: bytes.readableBytesView, limits: JSONLimits(bytes: limit), leavesOutNull: leavesOutNull)
        guard case .object(let object) = value else { throw JSONError(.wrongType, "the body is not an object") }
        return object
    }

    /// Returns a form's encoded text. Throws a ``Problem`` as ``body(of:limit:)``.
    ///
    /// The function encodes all characters that the sender has left raw.
    package func formText(limit: Int) async throws -> String {
        let bytes = try await self.body(of: [.form], limit: limit)
        guard let text = String(validating: bytes.readableBytesView, as: UTF8.self) else {
            throw Problem(.badRequest, "malformed-body", "The form is not UTF-8.")
        }
        return Parameters.encodingRest(ofForm: text)
    }
}

/// A `Content-Type` (RFC 9110, section 8.3.1): only the parameter `charset` matters here.
private struct MediaTypeHeader {
    let essence: String
    let isUTF8: Bool

    init?(_ text: String) {
        let parts = text.splitBytes(at: ";")
        guard let essence = parts.first.map(Self.trimmed), !essence.isEmpty else { return nil }
        var isUTF8 = true
        for part in parts.dropFirst() {
            let pair = part.splitBytes(at: "=", maxSplits: 1).map(Self.trimmed)
            guard pair.count == 2, !pair[0].isEmpty, !pair[1].isEmpty else { return nil }
            if pair[0].hasSameBytes(as: "charset") { isUTF8 = ["utf-8", "\"utf-8\""].containsBytes(of: pair[1]) }
        }
        self.essence = essence
        self.isUTF8 = isUTF8
    }

    /// Returns a text in lower case, without white space around it.
    private static func trimmed(_ text: Substring) -> String {
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let start = text.utf8.drop(while: isSpace).startIndex
        let end = text.utf8[start...].lastIndex { !isSpace($0) }.map(text.utf8.index(after:)) ?? start
        return text[start..<end].asciiLowercased
    }
}
