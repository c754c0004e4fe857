import JOSE
import OAuth
import _Primitives

/// A key of a client, with a test's ways to sign what no client would.
struct TestKey: Sendable {
    let signing: SigningKey
    let publicKey: JWK

    init(_ algorithm: JWSAlgorithm, named name: String? = nil) throws {
        self.signing = try SigningKey(
            kept: SigningKey.make(algorithm, random: .system), algorithm: algorithm, keyID: name)
        guard let key = self.signing.publicKey else { throw JOSEError(.invalidKey, "no public part") }
        self.publicKey = key
    }

    /// Numbers alone, as a proof has them.
    var bareJSON: JSONObject {
        var json = self.publicKey.publicJSON ?? [:]
        for name in ["kid", "use", "alg"] { json[name] = nil }
        return json
    }

    func sign(_ claims: JSONObject, type: String? = nil, header: JSONObject = [:]) throws -> String {
        try self.sign(text: JSON.object(claims).text, type: type, header: header)
    }

    func sign(text: String, type: String? = nil, header: JSONObject = [:]) throws -> String {
        try JWS.sign(Array(text.utf8), type: type, header: header, with: self.signing)
    }

    /// One of each algorithm that clients use. An RSA key takes its time, so all tests share it.
    static let all: [JWSAlgorithm: TestKey] = {
        var keys: [JWSAlgorithm: TestKey] = [:]
        for algorithm in JWSAlgorithm.ofClients { keys[algorithm] = try? TestKey(algorithm) }
        return keys
    }()

    static func of(_ algorithm: JWSAlgorithm) throws -> TestKey {
        guard let key = self.all[algorithm] else { throw JOSEError(.invalidKey, algorithm.rawValue) }
        return key
    }

    /// A header and a payload with a signature of nobody.
    static func unsigned(header: JSONObject, claims: JSONObject, signature: [UInt8] = []) -> String {
        [JSON.object(header).serialized, JSON.object(claims).serialized, signature].map { Base64URL.encode($0) }
            .joined(separator: ".")
    }
}

extension ValidityWindow {
    /// A server's usual numbers at the moment of the tests.
    static let usual = ValidityWindow(
        now: Timestamp(seconds: 1_800_000_000), skew: .seconds(10), longest: .seconds(300))
}

extension JSONObject {
    /// The object with some members changed, added, or left out where the value is `nil`.
    func with(_ changes: [(String, JSON?)]) -> JSONObject {
        var copy = self
        for (name, value) in changes { copy[name] = value }
        return copy
    }
}
