import ServerClients

/// Wrong PINs on the real terminal phone, while the server dies: the tries that are left never grow.
struct PhoneAttempts {
    let program: String
    let folder: String
    let server: Server
    let hazard: Hazard

    func run(_ findings: inout Findings) throws {}
}
