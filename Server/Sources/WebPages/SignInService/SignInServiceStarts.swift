import AppSignIn
import Ceremony
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Records
import Settings
import _Primitives

/// The page that an app opens, with the ways in which its person can sign in. Nothing has begun yet: each choice is an
/// address of the app sign-in service, and the address begins the sign-in.
struct SignInServiceStarts: Sendable {
    let service: SignInService
    let ways: SignInWays
    let answers: PageAnswers
    let limits: Limits
    let trace: TraceRecorder?

    /// Returns the page, if a request is an app's; `nil` for every other request.
    func page(of request: Request, _ context: ServerContext) async throws -> Response? {
        let bounds = OAuth.Parameters.Limits(bytes: self.limits.oauth.parameterBytes)
        guard let parameters = try? OAuth.Parameters(parsing: request.uri.query ?? "", limits: bounds),
            let application = parameters["application"], parameters["request"] == nil,
            try await self.service.isOffered()
        else { return nil }
        context.notes.note(service: application)
        let choices: SignInServiceChoices
        do { choices = try await self.service.authorizations.choices(parameters) } catch let error as OAuthError {
            context.notes.note(RequestRefusal(ProviderRefusal(error, client: application)))
            return await self.answers.error(error, context)
        }
        let known = try await self.ways.choices(for: choices.ways.map(\.method))
        let ways = choices.ways.compactMap { way -> (way: SignInChoicePage.Way, address: String)? in
            known.first { $0.word.hasSameBytes(as: way.method) }.map {
                ($0.entry, "\(SignInServiceRoutes.root)/authorize?\(way.parameters.encoded)")
            }
        }
        self.trace?.record(.providersShown, in: TraceContext(trace: TraceID(hash: choices.challenge.digest)), context)
        return .page(self.answers.pages.html(SignInStartPage(clientName: choices.clientName, ways: ways)))
    }
}
