import _Primitives

/// The header fields that an app adds to the requests of an operation, and the servers that receive the fields.
struct AddedHeaders: Sendable {
    /// The fields, in the order in which they are sent.
    let fields: [(name: String, value: String)]
    /// The servers, by host and port, that receive the fields.
    let authorities: [String]
}

/// The rules for header fields that the SDK has not written itself (RFC 9110, section 5).
enum HeaderFields {
    /// The maximum number of fields that an app adds.
    static let maximumCount = 16
    /// The maximum number of bytes of a name.
    static let maximumNameLength = 64
    /// The maximum number of bytes of a value that an app adds.
    static let maximumValueLength = 1024
    /// The maximum number of bytes of a credential.
    static let maximumCredentialLength = 8192

    /// The fields with which the transport frames a message, or that the SDK writes into every request.
    private static let ownNames = [
        "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "device-proof",
        "expect", "host", "keep-alive", "proxy-connection", "te", "trailer", "traceparent", "transfer-encoding",
        "upgrade",
    ]
    /// The fields with credentials, which an authorization provider supplies.
    private static let credentialNames = [
        "authorization", "cookie", "dpop", "proxy-authenticate", "proxy-authorization", "set-cookie",
        "www-authenticate",
    ]

    /// Returns the reason why an app may not add the fields to a request; `nil` if the app may. The reason contains no
    /// value.
    static func flaw(ofAdded fields: [(name: String, value: String)]) -> String? {
        guard fields.count <= self.maximumCount else { return "more than \(self.maximumCount) header fields" }
        var names: [String] = []
        for (name, value) in fields {
            if let flaw = self.flaw(of: name, value, maximumLength: self.maximumValueLength) { return flaw }
            let lowercased = name.asciiLowercased
            guard !self.ownNames.containsBytes(of: lowercased), !self.credentialNames.containsBytes(of: lowercased)
            else { return "the SDK itself sets the header field \(name)" }
            guard !names.containsBytes(of: lowercased) else { return "the header field \(name) occurs twice" }
            names.append(lowercased)
        }
        return nil
    }

    /// Returns the reason why the fields of an authorization provider cannot be sent; `nil` if the fields can be sent.
    /// The reason contains no value.
    static func flaw(ofCredentials fields: [(name: String, value: String)]) -> String? {
        guard fields.count <= self.maximumCount else { return "more than \(self.maximumCount) header fields" }
        for (name, value) in fields {
            if let flaw = self.flaw(of: name, value, maximumLength: self.maximumCredentialLength) { return flaw }
            guard !self.ownNames.containsBytes(of: name.asciiLowercased) else {
                return "the SDK itself sets the header field \(name)"
            }
        }
        return nil
    }

    /// Returns the reason why a field is malformed: the name must be a token (section 5.6.2), and the value visible
    /// ASCII with blanks and tabs inside (section 5.5).
    private static func flaw(of name: String, _ value: String, maximumLength: Int) -> String? {
        guard (1...self.maximumNameLength).contains(name.utf8.count), self.isToken(name) else {
            return "a header field's name is no token of 1 to \(self.maximumNameLength) bytes"
        }
        let bytes = value.utf8
        guard let first = bytes.first, let last = bytes.last, bytes.count <= maximumLength else {
            return "the value of \(name) does not have 1 to \(maximumLength) bytes"
        }
        guard bytes.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 0x09 }), first > 0x20, last > 0x20 else {
            return "the value of \(name) has a byte that no header field can carry"
        }
        return nil
    }

    /// Returns `true` if a text is a token (RFC 9110, section 5.6.2), or empty.
    static func isToken(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"):
                true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }
    }
}
