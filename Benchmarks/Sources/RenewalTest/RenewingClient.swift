import Foundation
import ServerClients

/// What a client keeps between two starts. It is replaced whole, as an app would do it.
struct ClientState: Codable {
    var client: RelyingParty
    /// The server's own port, and that of the proxy in front of it.
    var serverPort: UInt16
    var proxyPort: UInt16
    /// The refresh token that the client has stored.
    var token: String
    /// The key that it shows, as it is kept.
    var key: [UInt8]?
    /// How often it is still to renew.
    var left: Int
    /// At what numbers of `left` it dies between the receipt of a token and its storage.
    var deaths: Set<Int>
    /// How far the server's clock is ahead.
    var secondsAhead = 0

    init(
        client: RelyingParty, serverPort: UInt16, proxyPort: UInt16, token: String, key: [UInt8]?, left: Int,
        deaths: Set<Int>
    ) {
        self.client = client
        self.serverPort = serverPort
        self.proxyPort = proxyPort
        self.token = token
        self.key = key
        self.left = left
        self.deaths = deaths
    }

    init(file: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
    }

    func write(to file: String) throws {
        try JSONEncoder().encode(self).write(to: URL(fileURLWithPath: file), options: .atomic)
    }
}

/// One client, in a process of its own. It ends with 0 when it has renewed as often as it was to, with 3 when it was
/// signed out, and by `SIGKILL` where it was to die.
struct RenewingClient {
    static let signedOut: Int32 = 3

    let file: String

    func run() throws {
        var state = try ClientState(file: self.file)
        let key = try state.key.map { try ProofKey($0) }
        let proofs = Proofs(port: state.serverPort, secondsAhead: state.secondsAhead)
        while state.left > 0 {
            // Noted before, so that it dies once there and not each time.
            let dies = state.deaths.remove(state.left) != nil
            if dies { try state.write(to: self.file) }
            let answer = try Self.answer(to: state, key, proofs)
            guard answer.status == 200 else {
                print("refused: \(answer.status) \(String(decoding: answer.body, as: UTF8.self)), \(state.left) left")
                exit(Self.signedOut)
            }
            let next = try RelyingParty.renewable(in: answer).refresh
            if dies { kill(getpid(), SIGKILL) }
            state.token = next
            state.left -= 1
            try state.write(to: self.file)
        }
    }

    /// Asks until there is an answer, each time with the token that is stored.
    private static func answer(to state: ClientState, _ key: ProofKey?, _ proofs: Proofs) throws
        -> HTTPConnection.Response
    {
        for _ in 0..<100 {
            guard var connection = try? HTTPConnection(port: state.proxyPort) else { continue }
            let answer = try? proofs.exchange(on: &connection, key: key) {
                state.client.refresh(state.token, headers: $0)
            }
            if let answer { return answer }
        }
        throw LoadError("a hundred answers were lost, one after the other")
    }
}
