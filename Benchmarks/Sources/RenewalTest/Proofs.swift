import Foundation
import JOSE
import OAuth
import ServerClients
import Synchronization
import _Primitives

/// A key by which a client proves possession (DPoP, RFC 9449).
struct ProofKey: Sendable {
    /// The key in its stored form.
    let bytes: [UInt8]
    fileprivate let key: SigningKey

    init(_ bytes: [UInt8]? = nil) throws {
        let kept = try bytes.map(SecretBytes.init) ?? SigningKey.make(.es256, random: .system)
        self.bytes = kept.withBytes { Array($0) }
        self.key = try SigningKey(kept: kept, algorithm: .es256, keyID: nil)
    }
}

/// Makes proofs of keys for a server, with the nonce that the server requests.
final class Proofs: Sendable {
    private let port: UInt16
    private let secondsAhead: Int
    private let nonce = Mutex<String?>(nil)

    /// - Parameters:
    ///   - port: The server's own port, which the proof names.
    ///   - secondsAhead: The number of seconds by which the server's clock is ahead.
    init(port: UInt16, secondsAhead: Int = 0) {
        self.port = port
        self.secondsAhead = secondsAhead
    }

    /// Sends a request with a proof of a key, and sends the request once more if the server wants another nonce.
    func exchange(on connection: inout HTTPConnection, key: ProofKey?, _ request: ([String]) -> Request) throws
        -> HTTPConnection.Response
    {
        guard let key else { return try connection.exchange(request([])) }
        let first = try connection.exchange(request([self.header(key)]))
        if let given = first.header("dpop-nonce") { self.nonce.withLock { $0 = given } }
        guard first.status == 400, String(decoding: first.body, as: UTF8.self).contains("use_dpop_nonce") else {
            return first
        }
        return try connection.exchange(request([self.header(key)]))
    }

    private func header(_ key: ProofKey) throws -> String {
        guard let target = TargetURI("http://localhost:\(self.port)/oauth2/token") else { throw LoadError("no target") }
        let now = Timestamp(seconds: Int64(Date().timeIntervalSince1970) + Int64(self.secondsAhead))
        let proof = try DPoPProof.make(
            method: "POST", target: target, nonce: self.nonce.withLock { $0 }, with: key.key, at: now, random: .system)
        return "DPoP: \(proof)"
    }
}
