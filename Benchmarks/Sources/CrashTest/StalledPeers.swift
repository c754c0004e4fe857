import ServerClients
import UAF
import _Primitives

/// More peers than the server's connections send requests and do not read their answers. People must still sign in, and
/// the server must stop in time with everything acknowledged on disk.
struct StalledPeers {
    private static let connections = 200
    private static let peers = 220

    private let process: ServerProcess

    init(program: String, folder: String) throws {
        self.process = try ServerProcess(
            program: program, folder: folder, options: ["--connections", "\(Self.connections)"])
    }

    func run(_ findings: inout Findings<Rule>) throws {
        defer { self.process.killAtOnce() }
        try self.process.start()
        let server = Server(self.process)
        let relyingParty = try RelyingParty(server: server)
        var phone = try server.connect()
        var operatorConnection = try server.connectOperator()
        var device = try server.enrol("stalled", operator: &operatorConnection, phone: &phone)
        // All peers use the same address first, and then an address each.
        for source in [{ _ in "127.3.0.1" }, { "127.2.\($0).1" }] as [(Int) -> String] {
            try Self.withStalledPeers(server, from: source) {
                for _ in 0..<5 { try Self.signIn(server, relyingParty, &device, &findings) }
            }
        }
        try Self.withStalledPeers(server, from: { "127.2.\($0).2" }) {
            // The server's own account decides, not a clock of this machine. Every connection ended by itself, or was
            // cut because its peer read nothing. No connection was left for the end of the drain or for the deadline.
            let account = try self.process.stopWithAccount()
            findings.check(
                .noPeerHoldsTheServer, account?["requestsCut"] == "0",
                "the server's account of its stop: \(account.map { "\($0)" } ?? "none, as the deadline has passed")")
        }
        let stored = try sumOfCounters(inDatabase: self.process.databasePath)
        findings.check(
            .countersEqualTheSignatures, stored == UInt64(device.counter),
            "\(stored) in the database, \(device.counter) accepted")
    }

    /// Runs `body` with peers that request far more than anybody keeps for them.
    private static func withStalledPeers(
        _ server: Server, from source: (Int) -> String, _ body: () throws -> Void
    ) throws {
        var peers: [Peer] = []
        for number in 0..<Self.peers {
            // A connection that is cut at once cannot stall.
            guard var connection = try? server.connect(from: source(number)) else { continue }
            for _ in 0..<200 {
                guard (try? connection.send("GET", "/open", headers: [], body: [])) != nil else { break }
            }
            peers.append(Peer(connection))
        }
        try withExtendedLifetime(peers) { try body() }
    }

    private static func signIn(
        _ server: Server, _ relyingParty: RelyingParty, _ device: inout SoftwareDevice, _ findings: inout Findings<Rule>
    ) throws {
        do {
            // Each step uses a separate connection: a waiting connection gives way at the bound, and clients ask again.
            var browser = try server.connect()
            let signIn = try relyingParty.beginSignIn(on: &browser)
            var phone = try server.connect()
            guard let message = try server.redeem(signIn.typedCode, on: &phone).uafRequest else {
                throw LoadError("no request for the sign-in")
            }
            let body = try device.authentication(for: AuthenticationRequest(parsing: message.utf8))
            phone = try server.connect()
            _ = try phone.exchange(server.authenticationAnswer(body))
            browser = try server.connect()
            _ = try relyingParty.finish(signIn, on: &browser)
            findings.check(.noPeerHoldsTheServer, true, "")
        } catch {
            findings.check(.noPeerHoldsTheServer, false, "a person could not sign in: \(error)")
        }
    }
}

/// A connection that nobody reads from.
private final class Peer {
    let connection: HTTPConnection
    init(_ connection: consuming HTTPConnection) { self.connection = connection }
}
