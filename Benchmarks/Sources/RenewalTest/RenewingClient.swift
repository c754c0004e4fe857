import Foundation
import ServerClients

/// The data that a client keeps between two starts. The client always replaces the whole file, as an app would.
struct ClientState: KeptInFile {
    let client: RelyingParty
    /// The refresh token that the client has stored.
    var token: String
    /// The key that the client presents, in its stored form.
    let key: [UInt8]?
}

/// One client, in a separate process. The exit code is 0 after all renewals, and ``Errand/signedOut`` if the client was
/// signed out. A client that is to die ends by `SIGKILL`.
struct RenewingClient {
    static let kind = "client"

    let file: String

    func run() throws {
        var errand = try Errand(file: Errand.file(of: self.file))
        var state = try ClientState(file: self.file)
        let key = try state.key.map { try ProofKey($0) }
        let proofs = Proofs(port: errand.serverPort, secondsAhead: errand.secondsAhead)
        while errand.left > 0 {
            let dies = try errand.isToDie(at: Errand.file(of: self.file))
            let answer = try Self.answer(to: state, behind: errand.proxyPort, key, proofs)
            guard answer.status == 200 else {
                print("refused: \(answer.status) \(String(decoding: answer.body, as: UTF8.self)), \(errand.left) left")
                exit(Errand.signedOut)
            }
            let next = try RelyingParty.renewable(in: answer).refresh
            if dies { kill(getpid(), SIGKILL) }
            state.token = next
            try state.write(to: self.file)
            try errand.hasRenewed(at: Errand.file(of: self.file))
        }
    }

    /// Asks until an answer comes, each time with the stored token.
    private static func answer(to state: ClientState, behind proxyPort: UInt16, _ key: ProofKey?, _ proofs: Proofs)
        throws
        -> HTTPConnection.Response
    {
        for _ in 0..<Errand.tries {
            guard var connection = try? HTTPConnection(port: proxyPort) else { continue }
            let answer = try? proofs.exchange(on: &connection, key: key) {
                state.client.refresh(state.token, headers: $0)
            }
            if let answer { return answer }
        }
        throw LoadError("a hundred answers were lost, one after the other")
    }
}

/// Clients of the standard endpoints, with a family each: half of them are apps without a key, a quarter are apps with
/// a key, and a quarter have a secret.
struct Clients {
    let house: Household
    let folder: String

    /// - Parameters:
    ///   - count: The number of renewals of all clients together.
    ///   - kills: The number of deaths of all clients together.
    func members(count: Int, kills: Int) throws -> [LostAnswers.Member] {
        try (0..<LostAnswers.clients).map { index in
            var connection = try self.house.server.connect()
            let key = index % 4 == 1 ? try ProofKey() : nil
            let client = index % 4 == 3 ? self.house.web : self.house.app
            let token = try self.house.family(of: client, key: key, on: &connection)
            let member = LostAnswers.Member(
                kind: RenewingClient.kind, file: "\(self.folder)/client-\(index).json", isBound: index % 2 == 1,
                left: count / LostAnswers.clients, deaths: kills / LostAnswers.clients)
            try ClientState(client: client, token: token, key: key?.bytes).write(to: member.file)
            return member
        }
    }
}
