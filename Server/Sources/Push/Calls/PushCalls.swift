/// A request to a push service: a POST.
public struct PushRequest: Sendable, Equatable {
    /// A header field.
    public struct Field: Sendable, Equatable {
        /// The name, in small letters.
        public let name: String
        /// The value.
        public let value: String

        /// Makes a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The address. A part of the address can be the target of a device, so the address is not for a log.
    public let address: String
    /// The header fields, with the credential. Not for a log.
    public let fields: [Field]
    /// The body.
    public let body: [UInt8]

    /// Makes a request.
    public init(to address: String, _ fields: [Field], body: [UInt8]) {
        self.address = address
        self.fields = fields
        self.body = body
    }

    /// Returns the value of a field; `nil` without the field.
    public func field(_ name: String) -> String? { self.fields.first { $0.name.utf8.elementsEqual(name.utf8) }?.value }
}

/// The answer to a ``PushRequest``, whatever its status.
public struct PushResponse: Sendable, Equatable {
    /// The status.
    public let status: Int
    /// The field `Retry-After`; `nil` without the field.
    public let retryAfter: String?
    /// The body, at most ``Limits/Fixed/pushAnswerBytes`` bytes.
    public let body: [UInt8]

    /// Makes an answer.
    public init(status: Int, retryAfter: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }
}

/// The reason why a push service gave no answer, in words for the operator's log without any part of the request.
public struct PushCallError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The reason.
    public let reason: String

    /// Makes the error of a failed call.
    public init(_ reason: String) { self.reason = reason }

    public var description: String { self.reason }
}

/// The way to a push service. An implementation follows no redirect, and bounds time and bytes.
public protocol PushCalls: Sendable {
    /// Sends a request and returns the answer. A request is never sent a second time. Throws ``PushCallError``.
    func post(_ request: PushRequest) async throws -> PushResponse
}
