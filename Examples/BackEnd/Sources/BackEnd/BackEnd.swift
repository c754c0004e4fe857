public import CountersignBackend
import Foundation
public import Hummingbird
import PersonalInformation
public import _Primitives

/// The back end of an app that signs people in by their identities: an example of `CountersignBackend`.
///
///     POST /sign-in           begins a sign-in, and gives what the app asks the identities' server with
///     POST /sign-in/finish    {"handle", "code", "state", "issuer"}: ends it, and gives a session
///     GET /me, DELETE /me     Authorization: Bearer TOKEN
///
/// The app brings a code and gets a session. Who the person is stays here.
public struct BackEnd: Sendable {
    /// A body holds a code and what belongs to it, and no more.
    public struct Context: RequestContext {
        public var coreContext: CoreRequestContextStorage
        public init(source: Source) { self.coreContext = CoreRequestContextStorage(source: source) }
        public var maxUploadSize: Int { 4096 }
    }

    private let identities: IdentityBackend
    /// As long as a session at the identities' server lasts.
    private let begun: Kept<InAppSignIn>
    private let sessions: Kept<SignedInPerson>

    /// A back end that has its codes exchanged by `identities`. Past `signIns` that are begun at once, or `sessions`, nobody
    /// else is let in: whoever begins in masses keeps others out for a while, and puts nobody out.
    public init(
        _ identities: IdentityBackend, time: TimeSource = .system, signIns: Int = 10_000, sessions: Int = 100_000
    ) {
        self.identities = identities
        self.begun = Kept(for: .seconds(15 * 60), atMost: signIns, time)
        self.sessions = Kept(for: .seconds(12 * 3600), atMost: sessions, time)
    }

    /// What answers.
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

    /// Who is signed in with a token: for what the service does for the person, and not for the app.
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
        // Taken before the code is tried: a sign-in is finished once.
        guard let signIn = await self.begun.take(brought.handle) else { throw Refusal(.forbidden, Refusal.again) }
        let person: SignedInPerson
        do {
            person = try await self.identities.finish(
                signIn, code: brought.code, state: brought.state, issuer: brought.issuer)
        } catch {
            // It says what went wrong, and nothing of the code.
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
