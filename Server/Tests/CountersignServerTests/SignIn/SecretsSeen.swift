import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import OAuth
import Synchronization
import Testing
import _Primitives

/// What was said between programs and a server that nobody else may learn, each with what it was called there.
///
/// Whatever has a value of eight bytes or more is secret here, unless it is named below as something that is not: what is
/// new to the protocol is secret until somebody says otherwise.
final class SecretsSeen: Sendable {
    /// Names of values that anybody may know: of clients, kinds, addresses, people, times, and of what a token is said to be.
    private static let open: Set<String> = [
        "acr", "acr_values", "actor_token_type", "application", "audience", "authorization_details", "aud",
        "authn_context", "client", "client_id", "code_challenge", "code_challenge_method", "error",
        "error_description", "errors", "exp", "expires_in", "grant_type", "iat", "iss", "issued_token_type", "next",
        "redirect_uri", "response_type", "scope", "sub",
        "subject_token_type", "token_type", "token_type_hint", "type", "ui_locales", "username",
        // A name of a request, which stands in addresses of pages: it is good for nothing without the browser's cookie.
        "request",
        // What a cookie for scripts says: when the session ends.
        "vagov_info_token",
    ]

    private let seen = Mutex<[String: Set<String>]>([:])

    /// What each value was called.
    var values: [String: Set<String>] { self.seen.withLock { $0 } }
    /// Names of what was seen.
    var names: Set<String> { self.values.values.reduce([]) { $0.union($1) } }

    func note(_ value: String, as name: String) {
        guard value.utf8.count >= 8, !Self.open.contains(name) else { return }
        self.seen.withLock { seen in
            seen[value, default: []].insert(name)
            // A token's head is that of all of its kind.
            let parts = value.split(separator: ".")
            if parts.count >= 3 { for part in parts.dropFirst() { seen[String(part), default: []].insert(name) } }
        }
    }

    func note(parametersOf text: String) {
        guard let parameters = try? Parameters(parsing: text) else { return }
        for (name, value) in parameters.members { self.note(value, as: name) }
    }

    func note(membersOf json: JSON, as name: String = "") {
        switch json {
        case .object(let object): for (name, value) in object.members { self.note(membersOf: value, as: name) }
        case .array(let values): for value in values { self.note(membersOf: value, as: name) }
        case .string(let text): self.note(text, as: name)
        default: break
        }
    }

    /// A source that notes what it gives for keys and verifiers.
    func noting(_ random: RandomSource) -> RandomSource {
        RandomSource { count in
            let bytes = random.bytes(count)
            if count >= 32 { self.note(Base64URL.encode(bytes), as: "random") }
            return bytes
        }
    }
}

/// A client of a server in the same process that notes what is secret of requests and answers, and every address.
final class WatchedClient: TestClientProtocol {
    let secrets = SecretsSeen()
    private let client: any TestClientProtocol
    private let asked = Mutex<[String]>([])

    init(_ client: any TestClientProtocol) { self.client = client }

    var port: Int? { self.client.port }
    /// The addresses that were asked for.
    var addresses: [String] { self.asked.withLock { $0 } }

    func executeRequest(uri: String, method: HTTPRequest.Method, headers: HTTPFields, body: ByteBuffer?) async throws
        -> TestResponse
    {
        self.asked.withLock { $0.append(uri) }
        self.secrets.note(parametersOf: Self.query(uri))
        if let body { self.secrets.note(parametersOf: String(buffer: body)) }
        for line in headers[values: .cookie] {
            for pair in line.split(separator: "; ") { self.note(cookie: pair) }
        }
        if let token = headers[.authorization]?.split(separator: " ").last {
            self.secrets.note(String(token), as: "authorization")
        }
        for proof in headers[values: .keyProof] { self.secrets.note(proof, as: "proof") }
        let answer = try await self.client.executeRequest(uri: uri, method: method, headers: headers, body: body)
        self.secrets.note(parametersOf: Self.query(answer.headers[.location] ?? ""))
        for line in answer.headers[values: .setCookie] { self.note(cookie: line.prefix { $0 != ";" }) }
        if let json = try? JSON(parsing: Array(answer.body.readableBytesView)) { self.secrets.note(membersOf: json) }
        return answer
    }

    private static func query(_ address: String) -> String {
        String(address.split(separator: "?", maxSplits: 1).dropFirst().first ?? "")
    }

    private func note(cookie pair: Substring) {
        let parts = pair.split(separator: "=", maxSplits: 1)
        if parts.count == 2 { self.secrets.note(String(parts[1]), as: String(parts[0])) }
    }
}

/// Finds values in bytes, in whatever form they may stand there: as they are, decoded where they are base64url, in
/// hexadecimal, in base64 and base64url at any place of a longer text, percent-encoded and in a form's way.
struct SecretFinder {
    private var byHead: [UInt64: [(bytes: [UInt8], name: String)]] = [:]
    /// Which last two bytes of a head there are: nearly all of what is searched ends here.
    private var headEnds = [Bool](repeating: false, count: 1 << 16)

    /// - Parameter allowed: Names of what may stand there.
    init(_ secrets: SecretsSeen, allowing allowed: Set<String> = []) {
        for (value, names) in secrets.values where names.isDisjoint(with: allowed) {
            let name = names.sorted().joined(separator: ", ")
            self.add(Array(value.utf8), name)
            for form in [value.replacing(" ", with: "%20"), value.replacing(" ", with: "+")] where form != value {
                self.add(bytes: Array(form.utf8), name)
            }
            if let raw = Base64URL.decode(value), raw.count >= 12 { self.add(raw, name) }
        }
    }

    private mutating func add(_ value: [UInt8], _ name: String) {
        self.add(bytes: value, name)
        for digits in ["0123456789abcdef", "0123456789ABCDEF"] {
            let digits = Array(digits.utf8)
            self.add(bytes: value.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, name)
        }
        for offset in 0..<3 {
            // Of base64 those letters that are of nothing but the value.
            let text = Base64URL.encode([UInt8](repeating: 0, count: offset) + value)
            let whole = Array(text.utf8)[(offset * 8 + 5) / 6..<(offset + value.count) * 8 / 6]
            self.add(bytes: Array(whole), name)
            let standard = whole.map { byte in
                switch byte {
                case UInt8(ascii: "-"): UInt8(ascii: "+")
                case UInt8(ascii: "_"): UInt8(ascii: "/")
                default: byte
                }
            }
            self.add(bytes: standard, name)
        }
    }

    private mutating func add(bytes: [UInt8], _ name: String) {
        guard bytes.count >= 8 else { return }
        let head = bytes[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.byHead[head, default: []].append((bytes, name))
        self.headEnds[Int(head & 0xFFFF)] = true
    }

    /// Holds that nothing of it stands in a file of a folder. Throws for a file that cannot be read.
    func search(folder: String, _ moment: String) throws {
        for file in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            let path = "\(folder)/\(file)"
            // Folders and sockets have no bytes of their own.
            let type = try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
            guard type == .typeRegular else { continue }
            let found = self.names(in: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
            #expect(found.isEmpty, "\(moment): \(file) has \(found.sorted())")
        }
    }

    /// Holds that nothing of it stands in a log.
    func search(log: LoggedLines, _ moment: String) {
        for line in log.all {
            let found = self.names(in: Array(line.utf8))
            #expect(found.isEmpty, "\(moment): the log has \(found.sorted()): \(line)")
        }
    }

    /// The names of what stands in there.
    func names(in bytes: [UInt8]) -> Set<String> {
        var found: Set<String> = []
        var head: UInt64 = 0
        self.headEnds.withUnsafeBufferPointer { ends in
            bytes.withUnsafeBufferPointer { bytes in
                var index = 0
                while index < bytes.count {
                    head = head << 8 | UInt64(bytes[index])
                    index += 1
                    guard ends[Int(head & 0xFFFF)], index >= 8, let candidates = self.byHead[head] else { continue }
                    for (secret, name) in candidates where secret.count <= bytes.count - (index - 8) {
                        if secret.indices.allSatisfy({ secret[$0] == bytes[index - 8 + $0] }) { found.insert(name) }
                    }
                }
            }
        }
        return found
    }
}
