import Foundation
import ServerClients
import UAF
import _Primitives

/// The rules that must hold.
enum Rule: String, CaseIterable {
    case aLostAnswerSignsNobodyOut
    case aKilledClientComesBack
    case aBoundClientComesBackAfterADay
    case aStolenTokenEndsItsFamily
    case aStolenBoundTokenGivesNothing
    case aLostAnswerSignsNoAppOut
    case aKilledAppComesBack
    case anAppComesBackAfterADay
}

/// Tests the renewal of tokens. Clients renew their tokens through a proxy that loses one answer in twenty, and are
/// killed between the receipt and the storage of a token: no client may be signed out. Before, tokens are stolen. If
/// thief and owner both go on, a day apart, both must lose. A thief without the key of a bound token must get nothing.
///
/// The test repeats this with apps of the sign-in service, each a process with the whole SDK and its storage on the
/// disk.
///
/// Arguments: SERVER-PROGRAM REPORT [RENEWALS [KILLS [STOLEN [RENEWALS-OF-APPS]]]], or `client FILE` and `app FILE` for
/// one of the clients.
@main
struct RenewalTest {
    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 3, arguments[1] == RenewingClient.kind {
            return try RenewingClient(file: arguments[2]).run()
        }
        if arguments.count == 3, arguments[1] == RenewingApp.kind {
            return try await RenewingApp(file: arguments[2]).run()
        }
        guard arguments.count >= 3 else {
            throw LoadError(
                "usage: RenewalTest SERVER-PROGRAM REPORT [RENEWALS [KILLS [STOLEN [RENEWALS-OF-APPS]]]]")
        }
        func number(_ index: Int, else usual: Int) -> Int {
            arguments.count > index ? Int(arguments[index]) ?? usual : usual
        }
        let (renewals, kills, stolen) = (number(3, else: 100_000), number(4, else: 200), number(5, else: 1000))
        let ofApps = number(6, else: renewals)
        let folder = "/var/tmp/countersign-renewals-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let process = try ServerProcess(program: arguments[1], folder: folder)
        defer { process.killAtOnce() }
        try process.start()

        var findings = Findings<Rule>()
        let house = try Household(process: process)
        print(
            "renewal test: \(renewals) renewals, \(ofApps) of apps, \(kills) kills of each, \(stolen) tokens stolen of each kind"
        )
        let thieves = StolenTokens(house: house, count: stolen)
        var families = try thieves.run(&findings)
        // All clients are signed in now. Each of the two runs ends a day later by the server's clock.
        let apps = try await AppsOfService(house: house, process: process, folder: folder)
            .members(count: ofApps, kills: kills)
        let clients = try Clients(house: house, folder: folder).members(count: renewals, kills: kills)
        // Each of the following runs ends a day later.
        try LostAnswers(
            process: process, members: apps,
            rules: LostAnswers.Rules(
                lost: .aLostAnswerSignsNoAppOut, killed: .aKilledAppComesBack, late: .anAppComesBackAfterADay)
        ).run(&findings)
        try thieves.ownersGoOn(&families)
        try LostAnswers(
            process: process, members: clients,
            rules: LostAnswers.Rules(
                lost: .aLostAnswerSignsNobodyOut, killed: .aKilledClientComesBack, late: .aBoundClientComesBackAfterADay
            )
        ).run(&findings)
        try thieves.thievesGoOn(families, &findings)

        print("  \(findings.summary)")
        try findings.writeReport(of: "RenewalTest", to: arguments[2])
        for text in findings.texts.prefix(20) { print("  " + text) }
        if !findings.texts.isEmpty {
            print("renewal test failed: the server's folder is \(folder)")
            // The process ends without running deferred code.
            process.killAtOnce()
            exit(1)
        }
        try? FileManager.default.removeItem(atPath: folder)
        print("renewal test passed: nobody signed out, nothing for a thief")
    }
}

/// A signed-in person, and the three kinds of clients that renew their tokens.
struct Household: Sendable {
    let server: Server
    /// A web application with a secret. Its tokens are bound to the secret.
    let web: RelyingParty
    /// An app. Without a key, a thief can use stolen tokens of the app.
    let app: RelyingParty
    /// Another app, which has no tokens.
    let stranger: RelyingParty
    private let session: [String]
    private let proofs: Proofs
    private let phone: Shared<SoftwareDevice>

    init(process: ServerProcess) throws {
        self.server = Server(process)
        self.proofs = Proofs(port: process.port)
        let grants = ["authorization_code", "refresh_token"]
        self.web = try RelyingParty(server: self.server, grantTypes: grants)
        self.app = try RelyingParty(server: self.server, grantTypes: grants, isPublic: true)
        self.stranger = try RelyingParty(server: self.server, grantTypes: grants, isPublic: true)
        var phone = try self.server.connect()
        var operatorConnection = try self.server.connectOperator()
        let device = try self.server.enrol("alice", operator: &operatorConnection, phone: &phone)
        self.phone = Shared(device)
        var browser = try self.server.connect()
        let signIn = try self.web.beginSignIn(on: &browser)
        try Self.approve(signIn, by: self.phone, at: self.server)
        self.session = try self.web.finish(signIn, on: &browser).session
    }

    private static func approve(_ signIn: RelyingParty.SignIn, by phone: Shared<SoftwareDevice>, at server: Server)
        throws
    {
        var connection = try server.connect()
        guard let message = try server.redeem(signIn.typedCode, on: &connection).uafRequest else {
            throw LoadError("no request for the sign-in")
        }
        let request = try AuthenticationRequest(parsing: message.utf8)
        let body = try phone.withLock { try $0.authentication(for: request) }
        _ = try connection.exchange(server.authenticationAnswer(body))
    }

    /// Signs alice in to an app of the sign-in service by her phone. Returns the address to which the browser is sent.
    func signedIn(to app: String, challenge: String, state: String) throws -> String {
        var browser = try self.server.connect()
        let begun = try browser.exchange(
            Request(
                "GET",
                "/v0/sign_in/authorize?client_id=\(app)&type=phone&acr=loa1&scope=device_sso&state=\(state)"
                    + "&code_challenge=\(challenge)&code_challenge_method=S256", headers: [forwardedHeader()]))
        let (request, page) = try self.web.page(after: begun)
        let signIn = try self.web.signIn(
            request, authorization: begun, page: try browser.exchange(page), verifier: "")
        try Self.approve(signIn, by: self.phone, at: self.server)
        let completed = try browser.exchange(signIn.completion)
        guard let location = completed.header("location") else { throw LoadError("complete: \(completed.status)") }
        return location
    }

    /// Begins a family, and returns its first refresh token.
    ///
    /// - Parameter key: The key that the client presents with its code.
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

    /// Renews a token, and returns the new refresh token; `nil` if the server refuses the renewal.
    func renew(
        _ token: String, of client: RelyingParty, key: ProofKey? = nil, on connection: inout HTTPConnection
    ) throws -> String? {
        let answer = try self.proofs.exchange(on: &connection, key: key) { client.refresh(token, headers: $0) }
        guard answer.status != 200 else { return try RelyingParty.renewable(in: answer).refresh }
        guard answer.status == 400 || answer.status == 401 else { throw LoadError("refresh: \(answer.status)") }
        return nil
    }
}
