import Foundation
import ServerClients
import UAF
import _Primitives

/// What must hold.
enum Rule: String, CaseIterable {
    case aLostAnswerSignsNobodyOut
    case aKilledClientComesBack
    case aBoundClientComesBackAfterADay
    case aStolenTokenEndsItsFamily
    case aStolenBoundTokenGivesNothing
}

/// Clients renew their tokens through a proxy that loses one answer in twenty, and are killed between the receipt of a
/// token and its storage: nobody is signed out by it. Then tokens are stolen: a thief and an owner who go on side by side
/// both lose, and whoever lacks a bound token's key has nothing.
///
/// Arguments: SERVER-PROGRAM REPORT [RENEWALS [KILLS [STOLEN]]], or `client FILE` for one of the clients.
@main
struct RenewalTest {
    static func main() throws {
        let arguments = CommandLine.arguments
        if arguments.count == 3, arguments[1] == "client" {
            try RenewingClient(file: arguments[2]).run()
            return
        }
        guard arguments.count >= 3 else {
            throw LoadError("usage: RenewalTest SERVER-PROGRAM REPORT [RENEWALS [KILLS [STOLEN]]]")
        }
        func number(_ index: Int, else usual: Int) -> Int {
            arguments.count > index ? Int(arguments[index]) ?? usual : usual
        }
        let (renewals, kills, stolen) = (number(3, else: 100_000), number(4, else: 200), number(5, else: 1000))
        let folder = "/var/tmp/countersign-renewals-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let process = try ServerProcess(program: arguments[1], folder: folder)
        defer { process.killAtOnce() }
        try process.start()

        var findings = Findings<Rule>()
        let house = try Household(process: process)
        print("renewal test: \(renewals) renewals, \(kills) kills, \(stolen) tokens stolen of each kind")
        try StolenTokens(house: house, count: stolen).run(&findings)
        try LostAnswers(house: house, process: process, folder: folder, renewals: renewals, kills: kills)
            .run(&findings)

        print("  \(findings.summary)")
        try findings.writeReport(of: "RenewalTest", to: arguments[2])
        for text in findings.texts.prefix(20) { print("  " + text) }
        if !findings.texts.isEmpty {
            print("renewal test failed: the server's folder is \(folder)")
            // The process ends without what is deferred.
            process.killAtOnce()
            exit(1)
        }
        try? FileManager.default.removeItem(atPath: folder)
        print("renewal test passed: nobody signed out, nothing for a thief")
    }
}

/// A person who is signed in, and the three kinds of clients that renew their tokens.
struct Household: Sendable {
    let server: Server
    /// A web application with a secret: its tokens are bound to that.
    let web: RelyingParty
    /// An app, whose tokens are whoever's has them, unless it shows a key.
    let app: RelyingParty
    /// Another app, which knows nothing.
    let stranger: RelyingParty
    private let session: [String]
    private let proofs: Proofs

    init(process: ServerProcess) throws {
        self.server = Server(process)
        self.proofs = Proofs(port: process.port)
        let grants = ["authorization_code", "refresh_token"]
        self.web = try RelyingParty(server: self.server, grantTypes: grants)
        self.app = try RelyingParty(server: self.server, grantTypes: grants, isPublic: true)
        self.stranger = try RelyingParty(server: self.server, grantTypes: grants, isPublic: true)
        var phone = try self.server.connect()
        var operatorConnection = try self.server.connectOperator()
        var device = try self.server.enrol("alice", operator: &operatorConnection, phone: &phone)
        var browser = try self.server.connect()
        let signIn = try self.web.beginSignIn(on: &browser)
        guard let message = try self.server.redeem(signIn.typedCode, on: &phone).uafRequest else {
            throw LoadError("no request for the sign-in")
        }
        let body = try device.authentication(for: AuthenticationRequest(parsing: message.utf8))
        _ = try phone.exchange(self.server.authenticationAnswer(body))
        self.session = try self.web.finish(signIn, on: &browser).session
    }

    /// The first refresh token of a family.
    ///
    /// - Parameter key: The key that the client shows with its code.
    func family(of client: RelyingParty, key: ProofKey? = nil, on connection: inout HTTPConnection) throws -> String {
        let verifier = RandomSource.system.token()
        let answer = try connection.exchange(
            client.authorization(verifier: verifier, scope: "openid+offline_access", session: self.session))
        guard let code = client.code(in: answer) else { throw LoadError("authorize: \(answer.status)") }
        let tokens = try self.proofs.exchange(on: &connection, key: key) {
            client.exchange(code: code, verifier: verifier, headers: $0)
        }
        return try RelyingParty.renewable(in: tokens).refresh
    }

    /// What a renewal gives; `nil` where it is refused.
    func renew(
        _ token: String, of client: RelyingParty, key: ProofKey? = nil, on connection: inout HTTPConnection
    ) throws -> String? {
        let answer = try self.proofs.exchange(on: &connection, key: key) { client.refresh(token, headers: $0) }
        guard answer.status != 200 else { return try RelyingParty.renewable(in: answer).refresh }
        guard answer.status == 400 || answer.status == 401 else { throw LoadError("refresh: \(answer.status)") }
        return nil
    }
}
