import Foundation
import HTTPTypes
import Hummingbird
import Logging

private struct FormToken: Decodable {
    let token: String
    enum CodingKeys: String, CodingKey { case token = "form_token" }
}

/// One of the example services, with everything that each route needs.
protocol ExampleService: Sendable {
    /// The example service that this is: the bank or the town hall.
    var house: House { get }
    var origin: String { get }
    var provider: OpenIDClient { get }
    var sessions: SessionTable { get }
    var trace: TraceFile? { get }

    /// The page for everybody.
    func home(formToken: String) -> HTML
}

extension ExampleService {
    private var isSecure: Bool { self.origin.hasPrefix("https://") }
    private var cookieName: String { "\(self.isSecure ? "__Host-" : "")\(self.house.word)_session" }

    /// Adds the routes for files, for signing in and for signing out.
    func addCommonRoutes(to router: Router<BasicRequestContext>) {
        router.get("/bank.css") { _, _ in self.file(Stylesheet.text, type: "text/css; charset=utf-8") }
        router.get("/bank.js") { _, _ in self.file(Script.text, type: "text/javascript; charset=utf-8") }
        router.get("/lantern.svg") { _, _ in self.file(Layout.icon, type: "image/svg+xml") }
        self.addSignInRoutes(to: router)
    }

    // MARK: - Requests

    func session(_ request: Request) async -> SessionTable.Session {
        await self.sessions.session(request.cookies[self.cookieName]?.value)
    }

    /// Returns the fields of a form that carries its session's token; `nil` if another page sent the form.
    func form<Fields: Decodable>(
        _ type: Fields.Type, _ request: Request, _ session: SessionTable.Session
    ) async throws -> Fields? {
        let body = String(buffer: try await request.body.collect(upTo: BankLimits.formBytes))
        let decoder = URLEncodedFormDecoder()
        guard let token = try? decoder.decode(FormToken.self, from: body), Base64.isSame(token.token, session.formToken)
        else {
            return nil
        }
        return try? decoder.decode(type, from: body)
    }

    // MARK: - Answers

    func page(_ html: HTML, session: SessionTable.Session? = nil, status: HTTPResponse.Status = .ok) -> Response {
        var headers = self.headers(type: "text/html; charset=utf-8", cache: "no-store")
        if let session { self.setCookie(session.id, in: &headers) }
        return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: html.markup)))
    }

    func redirect(_ location: String, session: SessionTable.Session? = nil) -> Response {
        var headers = self.headers(type: nil, cache: "no-store")
        headers[.location] = location
        if let session { self.setCookie(session.id, in: &headers) }
        return Response(status: .seeOther, headers: headers)
    }

    /// Returns a page for a failure. The reason goes to the log and nowhere else.
    func failure(_ error: any Error, title: String, context: BasicRequestContext) -> Response {
        let isUnavailable = (error as? ProviderError).map { $0.kind != .refused } ?? false
        let text =
            isUnavailable
            ? "The service that knows your phone does not answer. Please try again in a moment."
            : "Nothing has happened. Please try again."
        return self.problem(
            title, text, status: isUnavailable ? .badGateway : .badRequest, reason: "\(error)", context: context)
    }

    /// Returns a page for a request that cannot be served, with the number of the page's line in the log.
    func problem(
        _ title: String, _ text: String, status: HTTPResponse.Status, reason: String? = nil,
        context: BasicRequestContext
    ) -> Response {
        let reference = LogReference()
        context.logger.warning(
            "\(title)", metadata: ["reference": "\(reference)", "reason": "\(reason ?? text)"])
        return self.page(
            HousePages(house: self.house).problem(title: title, text: text, reference: reference), status: status)
    }

    func forgedForm(_ context: BasicRequestContext) -> Response {
        self.problem(
            "This form is out of date", "Please go back, load the page again and repeat it.", status: .forbidden,
            context: context)
    }

    func headers(type: String?, cache: String) -> HTTPFields {
        var headers = HTTPFields()
        if let type { headers[.contentType] = type }
        headers[.cacheControl] = cache
        headers[.contentSecurityPolicy] = """
            default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; \
            form-action 'self' \(self.provider.calls.origin); base-uri 'none'; frame-ancestors 'none'
            """
        headers[.xContentTypeOptions] = "nosniff"
        if let name = HTTPField.Name("Referrer-Policy") { headers[name] = "no-referrer" }
        if self.isSecure { headers[.strictTransportSecurity] = "max-age=31536000" }
        return headers
    }

    private func setCookie(_ id: String, in headers: inout HTTPFields) {
        let secure = self.isSecure ? "; Secure" : ""
        headers[.setCookie] = "\(self.cookieName)=\(id); Path=/; HttpOnly; SameSite=Lax\(secure)"
    }

    private func file(_ text: String, type: String) -> Response {
        Response(
            status: .ok, headers: self.headers(type: type, cache: "no-cache"),
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }

    func record(_ step: TraceFile.Step, _ run: TracedRun) async { await self.trace?.record(step, run) }
}

/// The bank's parts.
struct Bank: ExampleService {
    let house = House.bank
    let origin: String
    let provider: OpenIDClient
    let confirmations: Confirmations
    let sessions: SessionTable
    let ledger: Ledger
    let settlement: Settlement
    let trace: TraceFile?
    /// Receives the transfers after their dispatch to a phone, for the follower.
    let begun: AsyncStream<Transfer>.Continuation

    func addRoutes(to router: Router<BasicRequestContext>) {
        self.addCommonRoutes(to: router)
        self.addTransferRoutes(to: router)
    }

    func home(formToken: String) -> HTML { AccountPages.home(formToken: formToken) }
}
