public import CountersignBackend
import Foundation
public import Hummingbird
import PersonalInformation
public import _Primitives

/// The back end of an app that signs people in by their identities: an example of `CountersignBackend`.
///
///     POST /sign-in           begins a sign-in, and returns the parameters for the identities' server
///     POST /sign-in/finish    {"handle", "code", "state", "issuer"}: ends the sign-in, and returns a session
///     GET /me, DELETE /me     Authorization: Bearer TOKEN
///
/// The app brings a code and gets a session. The identity of the person stays in the back end.
public struct BackEnd: Sendable {
    /// The context of a request. A body contains only a code and its parameters.
    public struct Context: RequestContext {
        public var coreContext: CoreRequestContextStorage
        public init(source: Source) { self.coreContext = CoreRequestContextStorage(source: source) }
        public var maxUploadSize: Int { 4096 }
    }

    private let identities: IdentityBackend
    /// The begun sign-ins, kept for the lifetime of a session at the identities' server.
    private let begun: Kept<InAppSignIn>
    private let sessions: Kept<SignedInPerson>

    /// Makes a back end with `identities` for the exchange of codes. If `signIns` sign-ins have begun, or `sessions`
    /// sessions exist, the back end admits nobody else. An attacker that begins many sign-ins keeps others out for a
    /// while, but ends no session.
    public init(
        _ identities: IdentityBackend, time: TimeSource = .system, signIns: Int = 10_000, sessions: Int = 100_000
    ) {
        self.identities = identities
        self.begun = Kept(for: .seconds(15 * 60), atMost: signIns, time)
        self.sessions = Kept(for: .seconds(12 * 3600), atMost: sessions, time)
    }

    /// The routes of the back end.
    public var router: Router<Context> {
        let router = Router(context: Context.self)
        router.post("sign-in") { _, _ in try await self.begin() }
        router.post("sign-in/finish") { request, context in try await self.finish(request, context) }
        router.get("me") { request, _ in Welcome(try await self.session(request).person) }
        router.delete("me") { request, _ in
            await self.sessions.take(try await self.session(request).token)
            return HTTPResponse.Status.noContent
        }
        return router
    }

    /// Returns the person of a token. The service uses the person's data, and the app does not receive the data.
    public func person(of token: String) async -> SignedInPerson? { await self.sessions.value(of: token) }

    private func begin() async throws -> Begun {
        let signIn = self.identities.begin()
        return Begun(handle: try await self.keep(signIn, in: self.begun), signIn.offer)
    }

    private func keep<Value>(_ value: Value, in kept: Kept<Value>) async throws -> String {
        do throws(Kept<Value>.Full) {
            return try await kept.keep(value)
        } catch {
            throw Refusal(full: error.wait)
        }
    }

    private func finish(_ request: Request, _ context: Context) async throws -> Session {
        guard let brought = try? await request.decode(as: Brought.self, context: context) else {
            throw Refusal(.badRequest, "Bring handle, code, state and issuer.")
        }
        // The sign-in is taken before the code is tried, so that a sign-in is finished only once.
        guard let signIn = await self.begun.take(brought.handle) else { throw Refusal(.forbidden, Refusal.again) }
        let person: SignedInPerson
        do {
            person = try await self.identities.finish(
                signIn, code: brought.code, state: brought.state, issuer: brought.issuer)
        } catch {
            // The error describes the fault, and contains nothing of the code.
            context.logger.warning("sign-in", metadata: ["error": "\(error)"])
            throw Refusal(error)
        }
        return Session(token: try await self.keep(person, in: self.sessions), greeting: Welcome(person).greeting)
    }

    private func session(_ request: Request) async throws -> (token: String, person: SignedInPerson) {
        let header = request.headers[.authorization] ?? ""
        let token = String(header.dropFirst("Bearer ".count))
        guard header.hasPrefix("Bearer "), let person = await self.person(of: token) else {
            throw Refusal(.unauthorized, "Sign in.")
        }
        return (token, person)
    }
}
