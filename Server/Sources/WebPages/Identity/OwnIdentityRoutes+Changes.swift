import Accounts
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import Pages
import Settings
import Texts
import _Primitives

/// The pages on which a person renames a device, or makes the server ask again for the choices at a service.
///
/// A session alone is enough. Neither change lets anybody act as the person, and a holder of the session sees both
/// values anyway.
extension OwnIdentityRoutes {
    // MARK: The name of a device

    private func form(
        _ id: String, _ name: String, _ visitor: Visitor, isRefused: Bool = false
    ) -> Response {
        .page(
            self.answers.pages.html(
                RenameActivationPage(
                    id: id, name: name, confirmation: self.cookies.formToken(visitor.session),
                    refusedBeyond: isRefused ? Limits.Fixed.shownNameCharacters : nil)),
            status: isRefused ? .unprocessableContent : .ok)
    }

    @Sendable func askForName(_ request: Request, _ context: ServerContext) async throws -> Response {
        let id = try SignInAddress.parameter("activation", of: request.uri.query ?? "")
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        let devices = try await self.identities.listings.activations(accountID: visitor.accountID)
        guard let device = devices.first(where: { $0.id.hasSameBytes(as: id) }) else { return self.gone }
        return self.form(device.id, device.name, visitor)
    }

    @Sendable func rename(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        try self.cookies.requireToken(of: form, visitor.session)
        guard let id = form["activation"] else { return self.gone }
        let name = form["name"] ?? ""
        do {
            guard
                try await self.identities.listings.renameOnPage(
                    id, to: name, accountID: visitor.accountID, source: context.source)
            else { return self.gone }
        } catch let error as CeremonyError where error.code == .invalidRequest {
            return self.form(id, name, visitor, isRefused: true)
        }
        return .page(
            self.answers.pages.html(
                ResultPage(.done, .deviceNamed(name), target: IdentityPaths.overview)))
    }

    // MARK: What was chosen for a service

    private var nothingChosen: Response {
        .page(
            self.answers.pages.html(
                ResultPage(.done, .nothingChosen, target: IdentityPaths.overview)), status: .notFound)
    }

    @Sendable func askForForgetting(_ request: Request, _ context: ServerContext) async throws -> Response {
        let id = try SignInAddress.parameter("service", of: request.uri.query ?? "")
        guard let visitor = try await self.visitor(request),
            let overview = try await self.own.overview(accountID: visitor.accountID)
        else { return self.nobody }
        guard let service = overview.services.first(where: { $0.id.hasSameBytes(as: id) }), !service.choices.isEmpty
        else { return self.nothingChosen }
        return .page(
            self.answers.pages.html(
                ForgetChoicePage(
                    id: service.id, service: service.name, choices: Self.shown(service.choices),
                    confirmation: self.cookies.formToken(visitor.session))))
    }

    @Sendable func forget(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        try self.cookies.requireToken(of: form, visitor.session)
        guard let service = form["service"],
            try await self.own.forgetChoice(accountID: visitor.accountID, service: service)
        else { return self.nothingChosen }
        return .page(
            self.answers.pages.html(
                ResultPage(.done, .choiceForgotten, target: IdentityPaths.overview)))
    }
}
