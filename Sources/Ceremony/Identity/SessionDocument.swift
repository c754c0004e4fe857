import Crypto
public import PersonalInformation
public import UAF
public import _Primitives

/// The document that a person agrees to in an identity ceremony.
///
/// The document names the service, the role, the person's data for the service, and an optional text. A phone shows
/// exactly the content that it signs: the factors sign ``challenge``, the hash of this document.
///
/// The document has a single spelling, a JSON object with its members in this order:
///
///     {"version":"1","purpose":"userLogin","server":"https://id.example","session":"…","activation":"…",
///      "service":{"name":"Health Portal","origin":"https://health.example"},"role":{"id":"…","name":"Patient"},
///      "attributes":[{"name":"givenName","supplied":"…"},{"name":"email","alias":{"id":"…","text":"Private"}}],
///      "text":"…","expires":1800000000,"nonce":"…"}
///
/// `text` may be missing. Attributes have the order of ``PersonalAttribute``. The server makes the document and sends
/// its bytes. A phone reads the bytes, refuses any other spelling, shows the content, and computes the challenge
/// itself.
public struct SessionDocument: Hashable, Sendable {
    /// The purpose of the authentication. A signature for one purpose does not count for another purpose.
    public enum Purpose: String, Hashable, Sendable, CaseIterable {
        /// Signs in a browser on another device.
        case userLogin
        /// Signs in this app.
        case serviceLogin
        /// Adds a factor.
        case addFactor
        /// Changes the PIN.
        case changePin
        /// Gives a further device an activation.
        case newActivation
        /// Deletes the account.
        case delete
        /// Moves an invitation's account into this account.
        case merge
    }

    /// The service that asks.
    public struct Service: Hashable, Sendable {
        /// The name, for display.
        public var name: String
        /// The web origin, for display (``DisplayText/origin(_:)``).
        public var origin: String

        /// Creates a service.
        public init(name: String, origin: String) {
            self.name = name
            self.origin = origin
        }
    }

    /// The role in which the person uses the service.
    public struct Role: Hashable, Sendable {
        /// The server's identifier of the role.
        public var id: String
        /// The name, for display.
        public var name: String

        /// Creates a role.
        public init(id: String, name: String) {
            self.id = id
            self.name = name
        }
    }

    /// The source of an attribute's value for the service.
    public enum AttributeSource: Hashable, Sendable {
        /// A value of the account, with the alias of the value. No message to a phone contains the value itself.
        case alias(id: String, text: String)
        /// A value that the person typed. The document contains the digest of the value.
        case supplied(SuppliedValueDigest)
    }

    /// The purpose of the authentication.
    public let purpose: Purpose
    /// The server's own origin.
    public let server: String
    /// The session of the ceremony.
    public let session: String
    /// The activation whose factors have to sign.
    public let activation: String
    /// The service that asks.
    public let service: Service
    /// The role in which the person uses the service.
    public let role: Role
    /// The attributes that the service receives, with their sources.
    public let attributes: [PersonalAttribute: AttributeSource]
    /// A further text that the person agrees to.
    public let text: TransactionText?
    /// The end of the time in which an answer counts, in whole seconds.
    public let expiresAt: Timestamp
    /// 32 random bytes, new for every attempt.
    public let nonce: [UInt8]
    /// The bytes of the single spelling, which are sent, shown and hashed.
    public let bytes: [UInt8]

    /// The version of the document that this product writes and reads.
    public static let version = "1"
    /// The most bytes of a document.
    public static let maximumBytes = 16 * 1024
    /// The most characters (Unicode scalars) of a name that is shown.
    public static let maximumNameLength = 128

    /// Creates a document with a fresh nonce. Names come into Normalization Form C.
    ///
    /// The expiry loses its fraction of a second. Throws ``SessionDocumentError``: `invalidValue` for a name, an
    /// identifier, an origin or an expiry outside the limits, `tooLarge`.
    public init(
        purpose: Purpose, server: String, session: String, activation: String, service: Service, role: Role,
        attributes: [PersonalAttribute: AttributeSource] = [:], text: TransactionText? = nil, expiresAt: Timestamp,
        random: RandomSource
    ) throws(SessionDocumentError) {
        try self.init(
            purpose: purpose, server: server, session: session, activation: activation, service: service, role: role,
            attributes: attributes, text: text, expiresAt: expiresAt, nonce: random.bytes(Self.nonceBytes))
    }

    private init(
        purpose: Purpose, server: String, session: String, activation: String, service: Service, role: Role,
        attributes: [PersonalAttribute: AttributeSource], text: TransactionText?, expiresAt: Timestamp, nonce: [UInt8]
    ) throws(SessionDocumentError) {
        self.purpose = purpose
        self.server = try Self.origin(server, "server")
        self.session = try Self.identifier(session, "session")
        self.activation = try Self.identifier(activation, "activation")
        self.service = Service(
            name: try Self.name(service.name, "service"), origin: try Self.origin(service.origin, "service"))
        self.role = Role(id: try Self.identifier(role.id, "role"), name: try Self.name(role.name, "role"))
        var sources: [PersonalAttribute: AttributeSource] = [:]
        for (attribute, source) in attributes {
            switch source {
            case .alias(let id, let text):
                sources[attribute] = .alias(
                    id: try Self.identifier(id, attribute.rawValue), text: try Self.name(text, attribute.rawValue))
            case .supplied: sources[attribute] = source
            }
        }
        self.attributes = sources
        self.text = text
        guard nonce.count == Self.nonceBytes else { throw SessionDocumentError(.invalidValue, "nonce") }
        self.nonce = nonce
        guard (0..<Self.endOfTime).contains(expiresAt.seconds) else {
            throw SessionDocumentError(.invalidValue, "expires")
        }
        self.expiresAt = Timestamp(seconds: expiresAt.seconds)
        self.bytes = Self.written(
            purpose: purpose, server: self.server, session: session, activation: activation, service: self.service,
            role: self.role, attributes: sources, text: text, expiresAt: self.expiresAt, nonce: nonce)
        guard self.bytes.count <= Self.maximumBytes else {
            throw SessionDocumentError(.tooLarge, "\(self.bytes.count) bytes")
        }
    }

    /// Returns the same document for another attempt: with a fresh nonce and the new expiry `expiresAt`.
    ///
    /// Throws ``SessionDocumentError`` `invalidValue` for a moment before 1970 or after the year 9999.
    public func renewed(expiresAt: Timestamp, random: RandomSource) throws(SessionDocumentError) -> Self {
        try Self(
            purpose: self.purpose, server: self.server, session: self.session, activation: self.activation,
            service: self.service, role: self.role, attributes: self.attributes, text: self.text, expiresAt: expiresAt,
            random: random)
    }

    /// Returns `true` if this document is the earlier document for another attempt: the nonce differs, the expiry may
    /// differ, and all else is equal. A person who saw the earlier document need not see this document again.
    public func isRenewal(of earlier: Self) -> Bool {
        guard self.nonce != earlier.nonce else { return false }
        func bytes(_ document: Self) -> [UInt8] {
            Self.written(
                purpose: document.purpose, server: document.server, session: document.session,
                activation: document.activation, service: document.service, role: document.role,
                attributes: document.attributes, text: document.text, expiresAt: Timestamp(seconds: 0), nonce: [])
        }
        return bytes(self) == bytes(earlier)
    }

    public static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.bytes) }
}

// MARK: - The challenge

extension SessionDocument {
    /// The challenge that all factors sign: the hash of ``bytes``.
    public var challenge: Challenge { Self.challenge(of: self.bytes) }

    /// Returns the SHA-256 of a label, a zero byte and the document.
    public static func challenge(of bytes: some Collection<UInt8>) -> Challenge {
        var hash = SHA256()
        hash.update(data: Array("countersign session document/1".utf8) + [0])
        hash.update(data: Array(bytes))
        return Challenge(hash: hash.finalize())
    }

    /// Returns `true` if the document contains exactly the person's answers: the chosen aliases, and digests of the
    /// typed values.
    ///
    /// - Parameter salts: The salts that the server sent beside the document, for each typed value.
    public func confirms(
        _ answers: [PersonalAttribute: AttributeAnswer], salts: [PersonalAttribute: SuppliedValueSalt]
    ) -> Bool {
        guard Set(answers.keys) == Set(self.attributes.keys) else { return false }
        return answers.allSatisfy { attribute, answer in
            switch (answer, self.attributes[attribute]) {
            case (.alias(let chosen), .alias(let id, _)): chosen.hasSameBytes(as: id)
            case (.value(let text), .supplied(let digest)):
                salts[attribute].map { digest.isDigest(of: text, for: attribute, salt: $0) } ?? false
            default: false
            }
        }
    }
}

// MARK: - Reading

extension SessionDocument {
    private static let limits = JSONLimits(bytes: Self.maximumBytes, depth: 5, values: 256)

    /// Reads a server's document, for a phone. The bytes must be the single spelling of a document, and their hash must
    /// be the challenge of the request beside the document.
    ///
    /// Throws ``SessionDocumentError``: `wrongChallenge`, and the errors of ``init(parsing:)``.
    public init(received bytes: some Collection<UInt8>, challenge: Challenge) throws(SessionDocumentError) {
        guard Self.challenge(of: bytes).matches(challenge) else { throw SessionDocumentError(.wrongChallenge) }
        try self.init(parsing: bytes)
    }

    /// Reads a document in its single spelling.
    ///
    /// Throws ``SessionDocumentError``: `malformed`, `unsupportedVersion`, `invalidValue`, `tooLarge`, `notNormal`.
    public init(parsing bytes: some Collection<UInt8>) throws(SessionDocumentError) {
        let object: JSONObject
        let version: String
        do throws(JSONError) {
            guard case .object(let read) = try JSON(parsing: bytes, limits: Self.limits) else {
                throw JSONError(.wrongType, "not an object")
            }
            object = read
            version = try read.requiredString("version")
        } catch {
            throw SessionDocumentError(.malformed, error.description)
        }
        guard version.hasSameBytes(as: Self.version) else { throw SessionDocumentError(.unsupportedVersion) }
        try self.init(object)
        guard self.bytes.elementsEqual(bytes) else { throw SessionDocumentError(.notNormal) }
    }

    /// Returns the service and the role of a document that its server has made and stored. The server checked the
    /// spelling when it made the document.
    ///
    /// Throws ``SessionDocumentError`` `malformed`.
    public static func parties(ofKept bytes: [UInt8]) throws(SessionDocumentError) -> (service: Service, role: Role) {
        do throws(JSONError) {
            guard case .object(let object) = try JSON(parsing: bytes, limits: Self.limits) else {
                throw JSONError(.wrongType, "not an object")
            }
            let service = try object.requiredObject("service")
            let role = try object.requiredObject("role")
            return (
                Service(name: try service.requiredString("name"), origin: try service.requiredString("origin")),
                Role(id: try role.requiredString("id"), name: try role.requiredString("name"))
            )
        } catch {
            throw SessionDocumentError(.malformed, error.description)
        }
    }

    private init(_ object: JSONObject) throws(SessionDocumentError) {
        do {
            let service = try object.requiredObject("service")
            let role = try object.requiredObject("role")
            guard let purpose = Purpose(exactly: try object.requiredString("purpose")) else {
                throw SessionDocumentError(.invalidValue, "purpose")
            }
            guard let nonce = Base64URL.decode(try object.requiredString("nonce")) else {
                throw SessionDocumentError(.invalidValue, "nonce")
            }
            try self.init(
                purpose: purpose, server: try object.requiredString("server"),
                session: try object.requiredString("session"), activation: try object.requiredString("activation"),
                service: Service(
                    name: try service.requiredString("name"), origin: try service.requiredString("origin")),
                role: Role(id: try role.requiredString("id"), name: try role.requiredString("name")),
                attributes: try Self.sources(try object.array("attributes") ?? []),
                text: try object.string("text").map { try TransactionText(received: Array($0.utf8)) },
                expiresAt: Timestamp(seconds: try object.requiredInteger("expires")), nonce: nonce)
        } catch {
            switch error {
            case let error as SessionDocumentError: throw error
            case let error as JSONError: throw SessionDocumentError(.malformed, error.description)
            default: throw SessionDocumentError(.invalidValue, "text")
            }
        }
    }

    private static func sources(_ values: [JSON]) throws -> [PersonalAttribute: AttributeSource] {
        var sources: [PersonalAttribute: AttributeSource] = [:]
        for value in values {
            guard case .object(let object) = value else { throw SessionDocumentError(.malformed, "attributes") }
            guard let attribute = PersonalAttribute(exactly: try object.requiredString("name")) else {
                throw SessionDocumentError(.invalidValue, "an attribute that is not known")
            }
            if let digest = try object.string("supplied") {
                guard let bytes = Base64URL.decode(digest), let digest = SuppliedValueDigest(bytes) else {
                    throw SessionDocumentError(.invalidValue, attribute.rawValue)
                }
                sources[attribute] = .supplied(digest)
            } else {
                let alias = try object.requiredObject("alias")
                sources[attribute] = .alias(id: try alias.requiredString("id"), text: try alias.requiredString("text"))
            }
        }
        return sources
    }
}

// MARK: - Writing

extension SessionDocument {
    private static let nonceBytes = 32
    /// The first second of the year 10000, which RFC 3339 cannot write.
    private static let endOfTime: Int64 = 253_402_300_800

    private static func written(
        purpose: Purpose, server: String, session: String, activation: String, service: Service, role: Role,
        attributes: [PersonalAttribute: AttributeSource], text: TransactionText?, expiresAt: Timestamp, nonce: [UInt8]
    ) -> [UInt8] {
        let sources = PersonalAttribute.allCases.compactMap { attribute in
            attributes[attribute].map { source in
                var object: JSONObject = ["name": .string(attribute.rawValue)]
                switch source {
                case .alias(let id, let text): object["alias"] = .object(["id": .string(id), "text": .string(text)])
                case .supplied(let digest): object["supplied"] = .string(Base64URL.encode(digest.bytes))
                }
                return JSON.object(object)
            }
        }
        var object: JSONObject = [
            "version": .string(Self.version), "purpose": .string(purpose.rawValue), "server": .string(server),
            "session": .string(session), "activation": .string(activation),
            "service": .object(["name": .string(service.name), "origin": .string(service.origin)]),
            "role": .object(["id": .string(role.id), "name": .string(role.name)]), "attributes": .array(sources),
        ]
        object["text"] = text.map { .string($0.text) }
        object["expires"] = .integer(expiresAt.seconds)
        object["nonce"] = .string(Base64URL.encode(nonce))
        return JSON.object(object).serialized
    }

    // MARK: Limits of what stands in it

    /// Returns a name as one line for display.
    private static func name(_ text: String, _ place: String) throws(SessionDocumentError) -> String {
        do throws(TransactionTextError) {
            let name = try TransactionText(normalizing: text, maximumLength: Self.maximumNameLength).text
            guard !name.utf8.contains(UInt8(ascii: "\n")) else { throw TransactionTextError(.forbiddenCharacter) }
            return name
        } catch {
            throw SessionDocumentError(.invalidValue, "\(place): \(error.code)")
        }
    }

    private static func identifier(_ text: String, _ place: String) throws(SessionDocumentError) -> String {
        let isIdentifier = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                true
            default: false
            }
        }
        guard isIdentifier, (1...64).contains(text.utf8.count) else {
            throw SessionDocumentError(.invalidValue, "\(place): not an identifier")
        }
        return text
    }

    private static func origin(_ text: String, _ place: String) throws(SessionDocumentError) -> String {
        guard (1...512).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SessionDocumentError(.invalidValue, "\(place): not an origin")
        }
        return text
    }
}

/// The reason why a document cannot be made, read or signed. Two errors are equal if their codes are equal.
public struct SessionDocumentError: CodedError {
    /// The kind of error, for code that has to choose.
    ///
    /// For an app, all kinds but `unsupportedVersion` mean the same: the server's message cannot be trusted.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case malformed, unsupportedVersion, invalidValue, tooLarge, notNormal, wrongChallenge
        }
        private let base: Base
        /// The bytes are not JSON, or a member is missing or of another type.
        public static let malformed = Self(base: .malformed)
        /// The document belongs to another version of the product.
        public static let unsupportedVersion = Self(base: .unsupportedVersion)
        /// A member is outside its limits, a purpose or an attribute is unknown, or a text cannot be shown.
        public static let invalidValue = Self(base: .invalidValue)
        /// The document has too many bytes.
        public static let tooLarge = Self(base: .tooLarge)
        /// The document is not in its single spelling, and a phone does not rewrite a document.
        public static let notNormal = Self(base: .notNormal)
        /// The request beside the document has another challenge. The person would see another content than the factors
        /// sign.
        public static let wrongChallenge = Self(base: .wrongChallenge)
        public var description: String { self.base.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A text for the log: a member's name or a length, never a value.
    public let reason: String

    /// Creates an error with the code; `reason` must hold no value of the document.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }
}
