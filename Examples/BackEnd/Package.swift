// swift-tools-version: 6.2
import PackageDescription

/// The back end of an app that signs people in by their identities. The package is separate, so that an app resolves no
/// HTTP server.

let package = Package(
    name: "countersign-back-end",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "back-end", targets: ["BackEndCommand"])],
    dependencies: [
        .package(name: "countersign", path: "../.."),
        .package(name: "countersign-examples", path: ".."),
        // The traits are the traits of Server/Package.swift, which shares the build folder. With other traits, HTTP
        // server and client would be compiled again at each change from one package to the other. A copy of this
        // package needs neither the traits nor the line of the configuration.
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: ["YAML"]),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: ["FullFoundation"]),
    ],
    targets: [
        .target(
            name: "BackEnd",
            dependencies: [
                .product(name: "CountersignBackend", package: "countersign"),
                .product(name: "_Primitives", package: "countersign"),
                .product(name: "PersonalInformation", package: "countersign"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ]),
        .executableTarget(
            name: "BackEndCommand",
            dependencies: [
                "BackEnd",
                .product(name: "Countersign", package: "countersign"),
                .product(name: "CountersignBackend", package: "countersign"),
                .product(name: "_Primitives", package: "countersign"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ]),
        // This target runs the back end for the app of the guides, against a double of the server in memory.
        .testTarget(
            name: "BackEndTests",
            dependencies: [
                "BackEnd",
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Countersign", package: "countersign"),
                .product(name: "CountersignBackend", package: "countersign"),
                .product(name: "_Primitives", package: "countersign"),
                .product(name: "PersonalInformation", package: "countersign"),
                .product(name: "UAFClient", package: "countersign"),
                .product(name: "FirstApp", package: "countersign-examples"),
                .product(name: "CountersignTestKit", package: "countersign"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
