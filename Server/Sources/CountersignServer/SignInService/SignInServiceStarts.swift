import Ceremony
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
    let upstream: UpstreamSignIns
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
        do { choices = try await self.service.choices(parameters) } catch let error as OAuthError {
            context.notes.note(RequestRefusal(ProviderRefusal(error, client: application)))
            return await self.answers.error(error, context)
        }
        let providers = try await self.upstream.offered(to: choices.ways.map(\.method))
        let ways = choices.ways.compactMap { way -> (way: SignInChoicePage.Way, address: String)? in
            let address = "\(SignInServiceRoutes.root)/authorize?\(way.parameters.encoded)"
            if way.method.hasSameBytes(as: ServerMetrics.Way.phone.rawValue) { return (.phone, address) }
            if way.method.hasSameBytes(as: ServerMetrics.Way.password.rawValue) { return (.password, address) }
            return providers.first { UpstreamProvider.method(of: $0.name).hasSameBytes(as: way.method) }
                .map { (.provider(name: $0.name, title: $0.title), address) }
        }
        self.trace?.record(.providersShown, in: TraceContext(trace: TraceID(hash: choices.challenge.digest)), context)
        return .page(self.answers.pages.html(SignInStartPage(clientName: choices.clientName, ways: ways)))
    }
}
