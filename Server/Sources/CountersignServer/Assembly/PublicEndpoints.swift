package import Endpoints
import OAuthProvider
import PublicAPI
import Settings
import WebPages

extension ServerAssembly {
    /// The pages for people.
    var pages: WebPages {
        WebPages(
            WebPages.Parts(
                provider: self.provider, upstream: self.upstream, signInService: self.signInService, ways: self.ways,
                devices: self.devices, ceremonies: self.ceremonies, identities: self.identities,
                passwords: self.passwords, channels: self.channels),
            WebPages.Configuration(
                issuer: self.configuration.issuer, isSecure: self.configuration.isSecure,
                serviceName: self.configuration.serviceName, sendsMail: self.configuration.mail != nil,
                hashing: self.configuration.hashing, limits: self.configuration.limits),
            trace: self.trace, time: self.time, random: self.random)
    }

    /// The addresses for programs.
    var programs: PublicAPI {
        PublicAPI(
            PublicAPI.Parts(
                provider: self.provider, devices: self.devices,
                challenges: Challenges(
                    self.provider.authorizations,
                    by: self.ways.direct(
                        self.passwords, self.ceremonies, metrics: self.configuration.metrics, time: self.time)),
                registrations: self.registrations, ceremonies: self.ceremonies, directory: self.directory,
                grants: self.grants, upstream: self.upstreamProviders, channels: self.channels),
            hasRegistration: self.configuration.hasRegistration || self.configuration.isRegistrationOpen,
            sessionCookie: SessionCookie(
                isSecure: self.configuration.isSecure, path: IssuerPath(of: self.configuration.issuer)),
            limits: self.configuration.limits, trace: self.trace)
    }

    /// The endpoints at the public addresses, in the order of their document.
    package var publicEndpoints: [Endpoint] { self.publicEndpoints(self.pages, self.programs) }

    func publicEndpoints(_ pages: WebPages, _ programs: PublicAPI) -> [Endpoint] {
        let parts = [
            pages.providerEndpoints, programs.providerEndpoints, pages.signInServiceEndpoints, pages.endpoints,
            programs.serviceEndpoints, programs.phoneEndpoints,
        ]
        return PublicDocument.describing(
            parts.flatMap(\.self), server: IssuerPath(of: self.configuration.issuer))
    }
}
