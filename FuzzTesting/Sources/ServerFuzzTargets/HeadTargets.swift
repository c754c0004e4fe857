import NIOHTTP1
import _Primitives

/// The values that the server reads from a request's head. The readers belong to targets on the web framework, which is
/// not compiled here: the files beside this file are links to these readers.
enum HeadTargets {
    /// Returns the lines of an input, each of them a field.
    private static func lines(_ bytes: [UInt8]) -> [String] {
        bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Checks cookies: a value that is found occurs in one of the fields.
    static func cookies(_ bytes: [UInt8]) -> Bool {
        let fields = self.lines(bytes)
        guard let value = CookieFields.value(of: "countersign_session", in: fields) else { return true }
        let found = Array("countersign_session=\(value)".utf8)
        return fields.contains { $0.utf8.firstRange(of: found) != nil }
    }

    private static let proxies = ["127.0.0.0/8", "::1", "10.0.0.0/8"].compactMap { AddressBlock($0) }

    /// Checks forwarded addresses. The result is the peer or an address, and a peer that is no proxy is not believed.
    static func forwardedFor(_ bytes: [UInt8]) -> Bool {
        let fields = self.lines(bytes)
        let reader = ForwardedAddresses(trustedProxies: self.proxies)
        let caller = reader.caller(of: "127.0.0.1", by: fields)
        return AddressBlock(caller) != nil && reader.caller(of: "192.0.2.1", by: fields) == "192.0.2.1"
    }

    /// Checks the head of a request behind the listener: the head is ASCII, has one word about the connection, and is
    /// unchanged after a second reading.
    static func requestHead(_ bytes: [UInt8]) -> Bool {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let first = (lines.first ?? []).split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        var head = HTTPRequestHead(
            version: first.count > 2 && first[2].hasSameBytes(as: "HTTP/1.0") ? .http1_0 : .http1_1,
            method: first.first?.hasSameBytes(as: "HEAD") == true ? .HEAD : .GET, uri: first.count > 1 ? first[1] : "/")
        for line in lines.dropFirst() {
            let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
            // The parser of HTTP/1.1 accepts no other name.
            guard colon > line.startIndex, line[..<colon].allSatisfy({ (0x21...0x7E).contains($0) }) else { continue }
            head.headers.add(
                name: String(decoding: line[..<colon], as: UTF8.self),
                value: String(decoding: line[colon...].dropFirst().drop { $0 == 0x20 }, as: UTF8.self))
        }
        let shape = RequestShape(&head)
        let uri = head.uri
        guard head.uri.utf8.allSatisfy({ $0 < 0x80 }),
            head.headers.allSatisfy({ $0.value.utf8.allSatisfy { $0 < 0x80 } }),
            head.headers["connection"].count == (shape.isLast ? 1 : 0)
        else { return false }
        let again = RequestShape(&head)
        return head.uri.hasSameBytes(as: uri) && again.isHead == shape.isHead && again.isOld == shape.isOld
            && again.isLast == shape.isLast && again.expectsContinue == shape.expectsContinue
    }
}
