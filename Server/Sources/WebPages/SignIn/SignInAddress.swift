import Endpoints
import HTTPTypes
import OAuth
import Settings
import _Primitives

/// The parameters in the addresses of a sign-in's pages.
///
/// The service is for the page that comes after the sign-in itself is gone. The server looks the service up among the
/// registered services. The service decides only the words of that page.
struct SignInAddress {
    let request: String
    let service: String?

    init(request: String, service: String?) {
        self.request = request
        self.service = service
    }

    /// Reads a query or a form, and notes the service for a page about a later problem.
    init(query: String?, _ context: ServerContext) throws {
        let text = query ?? ""
        self.service = try? Self.parameter("client", of: text)
        context.notes.note(service: self.service)
        self.request = try Self.parameter("request", of: text)
    }

    /// Returns the address of another page of the sign-in.
    func path(_ path: String) -> String {
        var parameters: OAuth.Parameters = ["request": self.request]
        if let service { parameters.append("client", service) }
        return "\(path)?\(parameters.encoded)"
    }

    static func parameter(_ name: String, of text: String) throws -> String {
        guard let value = (try? Parameters(parsing: text))?[name],
            (1...Limits.Fixed.pageParameterBytes).contains(value.utf8.count)
        else {
            throw Problem(.badRequest, "invalid-request", "The address lacks a part. Follow the whole link.")
        }
        return value
    }
}

extension SignInAddress {
    /// The parameters, as the document describes the parameters.
    static let fields: [DescribedField] = [
        .required("request", "The sign-in."), .optional("client", "The service that it is for."),
    ]

    /// The refusal of a browser that has not started the sign-in, as the document describes the refusal.
    static let unknown = (status: 404, meaning: "This browser has no such sign-in.")

    /// Returns the endpoint of a page of a sign-in.
    static func page(
        _ path: String, _ id: String, _ summary: String, _ effect: Endpoint.Effect,
        handler: @escaping ServerRouter.Handler
    ) -> Endpoint {
        Endpoint(
            method: .get, path: path, id: id, summary: summary, effect: effect, query: Self.fields,
            answers: [.page, .goOn], refusals: .pages,
            refusing: [
                Self.unknown, Endpoint.tooMany, (403, "Another browser's."), (409, "Something else was quicker."),
            ], handler: handler)
    }
}

/// The reason why a page of a sign-in cannot be shown.
enum SignInProblem {
    /// The sign-in has ended, or is another browser's.
    static let unknown = Problem(
        .notFound, Problem.Name.notFound, "There is no such sign-in in this browser.")

    /// The browser shows no cookie. Only the absence of the browser's own cookies gives this problem.
    static let unknownBrowser = Problem(
        .notFound, Problem.Name.browserUnknown, "The browser shows no cookie of a sign-in.")
}
